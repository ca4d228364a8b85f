//! Hypervisor between this kernel and the machine, if any.

use super::read_line;
use crate::kernel_files::Tree;

/// Information from the CPUID instruction about a hypervisor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cpuid {
    /// Name that the hypervisor gives itself; absent without a hypervisor and on CPUs without
    /// CPUID.
    pub vendor: Option<String>,
    /// Whether the hypervisor reports steal time; absent if CPUID cannot tell.
    pub tells_steal: Option<bool>,
    /// Whether KVM wakes a waiter of a paravirtual spinlock; absent if CPUID cannot tell.
    pub wakes_waiters: Option<bool>,
    /// Whether KVM states that each virtual CPU has a physical CPU to itself; absent if CPUID
    /// cannot tell.
    pub dedicated: Option<bool>,
}

/// Words in a machine's DMI names that only virtual machines have. Amazon's name is not among them,
/// because its bare-metal instances carry it too.
const FIRMWARE_NAMES: [(&str, &str); 7] = [
    ("QEMU", "QEMU"),
    ("KVM", "KVM"),
    ("VMware", "VMware"),
    ("VirtualBox", "VirtualBox"),
    ("Virtual Machine", "Hyper-V"),
    ("Xen", "Xen"),
    ("Google Compute Engine", "Google Compute Engine"),
];

/// Name of the hypervisor.
///
/// On x86 the flag `hypervisor` (CPUID leaf 1, ECX bit 31) decides whether a hypervisor is present.
/// Other architectures have no such flag, so the firmware's names for the machine decide there.
pub(super) fn read(tree: &mut Tree, cpuid: &Cpuid, cpuinfo: &str) -> Option<String> {
    if let Some(flags) = cpuinfo.lines().find(|line| line.starts_with("flags")) {
        let virtual_cpu = flags.split_ascii_whitespace().any(|flag| flag == "hypervisor");
        return virtual_cpu.then(|| {
            let named = cpuid.vendor.clone().or_else(|| firmware_hypervisor(tree));
            named.unwrap_or_else(|| "unknown hypervisor".to_owned())
        });
    }
    firmware_hypervisor(tree)
}

/// Name of the hypervisor according to the kernel and the firmware.
fn firmware_hypervisor(tree: &mut Tree) -> Option<String> {
    if let Some(kind) = read_line(tree, "/sys/hypervisor/type") {
        return Some(if kind == "xen" { "Xen".to_owned() } else { kind });
    }
    let files = ["/sys/class/dmi/id/sys_vendor", "/sys/class/dmi/id/product_name"];
    let names: Vec<String> = files.iter().filter_map(|file| read_line(tree, file)).collect();
    let known = FIRMWARE_NAMES.iter().find(|(word, _)| names.iter().any(|name| name.contains(word)));
    known.map(|(_, hypervisor)| (*hypervisor).to_owned())
}

#[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
impl Cpuid {
    /// Returns no information: this architecture has no CPUID instruction.
    pub fn read() -> Self {
        Self::default()
    }
}

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
impl Cpuid {
    /// Executes CPUID on the current CPU.
    pub fn read() -> Self {
        use raw_cpuid::{CpuId, Hypervisor, cpuid};

        /// KVM's leaf of features, with bits of its EAX and one hint in its EDX:
        /// `Documentation/virt/kvm/x86/cpuid.rst`.
        const KVM_FEATURES: u32 = 0x4000_0001;
        const KVM_FEATURE_STEAL_TIME: u32 = 1 << 5;
        const KVM_FEATURE_PV_UNHALT: u32 = 1 << 7;
        const KVM_HINTS_REALTIME: u32 = 1 << 0;

        let cpu = CpuId::new();
        // Without a hypervisor, its leaves have no meaning.
        let virtual_cpu = cpu.get_feature_info().is_some_and(|features| features.has_hypervisor());
        let Some(info) = cpu.get_hypervisor_info().filter(|_| virtual_cpu) else { return Self::default() };
        let identity = info.identify();
        let name = match &identity {
            Hypervisor::HyperV => "Hyper-V".to_owned(),
            Hypervisor::Bhyve => "bhyve".to_owned(),
            // The name, in three registers of four letters each.
            Hypervisor::Unknown(b, c, d) => [b, c, d]
                .iter()
                .flat_map(|register| register.to_le_bytes())
                .map(char::from)
                .filter(char::is_ascii_graphic)
                .collect(),
            other => format!("{other:?}"),
        };
        let kvm = (identity == Hypervisor::KVM).then(|| cpuid!(KVM_FEATURES));
        let feature = |bit: u32| kvm.map(|leaf| leaf.eax & bit != 0);
        Self {
            vendor: (!name.is_empty()).then_some(name),
            tells_steal: feature(KVM_FEATURE_STEAL_TIME),
            wakes_waiters: feature(KVM_FEATURE_PV_UNHALT),
            dedicated: kvm.map(|leaf| leaf.edx & KVM_HINTS_REALTIME != 0),
        }
    }
}
