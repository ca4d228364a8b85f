//! Name of the CPU model, from `/proc/cpuinfo`, whose keys differ between architectures.

use std::collections::BTreeSet;

/// Keys that hold a name, the most specific first: x86, LoongArch and newer Arm kernels; MIPS;
/// s390; POWER; RISC-V.
const NAME_KEYS: [&str; 5] = ["model name", "cpu model", "processor 0", "cpu", "uarch"];

/// Keys that name at least the board.
const BOARD_KEYS: [&str; 2] = ["Model", "Hardware"];

/// Arm's implementers and parts, from `arch/arm64/include/asm/cputype.h`. The table holds only the
/// server and desktop cores on which measurements are likely. Other cores are given by their
/// numbers, which `lscpu` explains.
const ARM_PARTS: [(u32, u32, &str); 22] = [
    (0x41, 0xd03, "Cortex-A53"),
    (0x41, 0xd05, "Cortex-A55"),
    (0x41, 0xd07, "Cortex-A57"),
    (0x41, 0xd08, "Cortex-A72"),
    (0x41, 0xd0b, "Cortex-A76"),
    (0x41, 0xd0c, "Neoverse-N1"),
    (0x41, 0xd40, "Neoverse-V1"),
    (0x41, 0xd41, "Cortex-A78"),
    (0x41, 0xd44, "Cortex-X1"),
    (0x41, 0xd46, "Cortex-A510"),
    (0x41, 0xd47, "Cortex-A710"),
    (0x41, 0xd48, "Cortex-X2"),
    (0x41, 0xd49, "Neoverse-N2"),
    (0x41, 0xd4f, "Neoverse-V2"),
    (0x41, 0xd84, "Neoverse-V3"),
    (0x41, 0xd8e, "Neoverse-N3"),
    (0x43, 0x0af, "Cavium ThunderX2"),
    (0x46, 0x001, "Fujitsu A64FX"),
    (0x51, 0x001, "Qualcomm Oryon"),
    (0xc0, 0xac3, "Ampere-1"),
    (0xc0, 0xac4, "Ampere-1a"),
    (0x48, 0xd01, "HiSilicon TSV110"),
];

/// Name of the CPU model; empty if the kernel gives none.
pub(super) fn read(cpuinfo: &str) -> String {
    let first =
        |wanted: &str| fields(cpuinfo).find(|(key, _)| *key == wanted).map(|(_, value)| value.to_owned());
    NAME_KEYS
        .iter()
        .find_map(|key| first(key))
        .or_else(|| arm_model(cpuinfo))
        .or_else(|| BOARD_KEYS.iter().find_map(|key| first(key)))
        .unwrap_or_default()
}

fn fields(cpuinfo: &str) -> impl Iterator<Item = (&str, &str)> {
    let pairs = cpuinfo.lines().filter_map(|line| line.split_once(':'));
    pairs.map(|(key, value)| (key.trim(), value.trim())).filter(|(_, value)| !value.is_empty())
}

/// Names of all kinds of Arm core in the machine.
fn arm_model(cpuinfo: &str) -> Option<String> {
    let number = |value: &str| u32::from_str_radix(value.strip_prefix("0x")?, 16).ok();
    let (mut names, mut implementer) = (BTreeSet::new(), None);
    for (key, value) in fields(cpuinfo) {
        match key {
            "CPU implementer" => implementer = number(value),
            "CPU part" => {
                let (Some(implementer), Some(part)) = (implementer, number(value)) else { continue };
                let known = ARM_PARTS.iter().find(|(i, p, _)| (*i, *p) == (implementer, part));
                names.insert(known.map_or_else(
                    || format!("Arm implementer {implementer:#x}, part {part:#x}"),
                    |(_, _, name)| (*name).to_owned(),
                ));
            }
            _ => {}
        }
    }
    (!names.is_empty()).then(|| names.into_iter().collect::<Vec<_>>().join(" and "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_architecture_has_its_own_cpu_name_field() {
        let x86 = "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel\t\t: 1\nmodel name\t: AMD EPYC 7763\n";
        assert_eq!(read(x86), "AMD EPYC 7763");
        let arm = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n";
        assert_eq!(read(arm), "Neoverse-N1");
        let big_little =
            "CPU implementer\t: 0x41\nCPU part\t: 0xd03\n\nCPU implementer\t: 0x41\nCPU part\t: 0xd08\n";
        assert_eq!(read(big_little), "Cortex-A53 and Cortex-A72");
        let unknown = "CPU implementer : 0x99\nCPU part : 0x123\nHardware : Board\n";
        assert_eq!(read(unknown), "Arm implementer 0x99, part 0x123");
        assert_eq!(read("cpu\t\t: POWER9, altivec supported\n"), "POWER9, altivec supported");
        assert_eq!(read("Hardware\t: BCM2835\n"), "BCM2835");
        assert_eq!(read(""), "");
    }
}
