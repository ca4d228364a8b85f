//! Loads the BPF programs with the sizes of their buffers. A kernel that refuses the programs with
//! the memory for user stacks gets them without. This module attaches no program.

use std::mem::MaybeUninit;

use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{OpenObject, ProgramAttachType};
use morecores_study::{Bytes, Nanos};
use tracing::debug;

use super::features::Features;
use super::libbpf::refusal;
use super::skel::{TraceSkel, TraceSkelBuilder};
use crate::wire::{PAGE_BYTES, SLOT_SIZE};
use crate::{Options, TraceError};

/// Memory for all buffers together, if a CPU's share is within the limits below.
const DEFAULT_BUFFER_BYTES: u64 = 256 << 20;
/// The smallest and largest buffer of a CPU, as the power of two of its slots of 32 bytes: 512 KiB
/// and 8 MiB. The largest buffer holds a tenth of a second at 2.6 million events a second.
const RING_BITS: std::ops::RangeInclusive<u32> = 14..=18;
/// The smallest buffer that the options can request, 4 KiB: one page, the granularity of mappings.
const MIN_RING_BITS: u32 = 7;
/// Memory for all buffers of stack memory together, if a CPU's share is within the limits below.
const STACK_BUFFER_BYTES: u64 = 128 << 20;
/// The smallest and largest buffer of stack memory of a CPU, as the power of two of its pages of 4
/// KiB: 256 KiB and 4 MiB. The largest buffer holds the stacks of a tenth of a second, with 4,000
/// stacks a second of two pages each.
const STACK_BITS: std::ops::RangeInclusive<u32> = 6..=10;
/// Largest buffer of stack memory of a CPU that the options can request, as the same power. The
/// kernel refuses it.
const MAX_STACK_BITS: u32 = 19;
/// Shortest wait for a kernel lock whose stack is always taken. A stack costs 1 µs: at most 10% of
/// such a wait.
const LONG_WAIT: Nanos = Nanos::from_micros(10);
/// One in this many of the shorter waits has a stack too: at 300,000 waits a second, 5 ms of stacks
/// a second.
pub(super) const STACK_SHARE: u32 = 64;

/// Loaded programs, and the sizes of their buffers.
pub(super) struct LoadedPrograms {
    pub(super) skel: TraceSkel<'static>,
    /// Binary logarithm of the number of slots of a CPU's buffer.
    pub(super) slot_bits: u32,
    /// Binary logarithm of the number of pages of a CPU's stack memory; zero without stacks.
    pub(super) stack_bits: u32,
    /// Reason why the programs copy no stacks, if so.
    pub(super) without_stacks: Option<TraceError>,
}

/// Loads the programs for this number of CPUs.
pub(super) fn load(options: &Options, features: &Features, cpus: u32) -> Result<LoadedPrograms, TraceError> {
    let slot_bits = ring_bits(cpus, options.buffers);
    let stack_bits = stack_bits(cpus, options.stack_buffers);
    let loaded =
        |skel, stack_bits, without_stacks| LoadedPrograms { skel, slot_bits, stack_bits, without_stacks };
    match load_with(options, features, cpus, (slot_bits, stack_bits)) {
        Err(why @ TraceError::Load(_)) => {
            debug!("the kernel refuses the programs with stacks: {why}");
            let skel = load_with(options, features, cpus, (slot_bits, 0))?;
            Ok(loaded(skel, 0, Some(why)))
        }
        first => Ok(loaded(first?, stack_bits, None)),
    }
}

/// Loads the programs with these sizes of the buffers.
fn load_with(
    options: &Options,
    features: &Features,
    cpus: u32,
    (slot_bits, stack_bits): (u32, u32),
) -> Result<TraceSkel<'static>, TraceError> {
    // libbpf-rs's skeleton borrows the memory of its object, so these 8 bytes are leaked.
    let place = Box::leak(Box::new(MaybeUninit::<OpenObject>::uninit()));
    let mut open = TraceSkelBuilder::default().open(place).map_err(|e| refusal(&e))?;
    let slots = &mut open.maps.slots;
    slots.set_max_entries(cpus).map_err(|e| refusal(&e))?;
    slots.set_value_size((SLOT_SIZE << slot_bits) as u32).map_err(|e| refusal(&e))?;
    let stack_memory = &mut open.maps.stack_memory;
    stack_memory.set_max_entries(cpus).map_err(|e| refusal(&e))?;
    stack_memory.set_value_size((PAGE_BYTES << stack_bits) as u32).map_err(|e| refusal(&e))?;
    if options.lock_probes.is_empty() {
        open.maps.holds.set_max_entries(1).map_err(|e| refusal(&e))?;
        open.maps.lock_uses.set_max_entries(1).map_err(|e| refusal(&e))?;
    }
    let rodata = open.maps.rodata_data.as_deref_mut().ok_or(TraceError::NotRunning)?;
    rodata.ring_bits = slot_bits;
    rodata.stack_bits = stack_bits;
    if let Some(owner) = options.stack_owner {
        (rodata.stack_user, rodata.stack_group) = (owner.user, owner.group);
    }
    rodata.long_wait_ns = LONG_WAIT.0;
    rodata.stack_share = STACK_SHARE;
    rodata.exact_locks = !options.lock_probes.is_empty();
    rodata.check_contexts = options.check_contexts;
    rodata.preempt_count_from_runqueue = features.preempt_count_from_runqueue.unwrap_or(0);
    for cpu in options.allotted.iter() {
        rodata.allotted[cpu.0 as usize / 64] |= 1 << (cpu.0 % 64);
    }
    if features.uprobes_at_once {
        open.progs.on_lock_call.set_attach_type(ProgramAttachType::TraceUprobeMulti);
    }
    for mut program in open.open_object_mut().progs_mut() {
        let is_included = match program.section() {
            section if section == "uprobe" => !options.lock_probes.is_empty(),
            section => features.includes_program(section),
        };
        program.set_autoload(is_included);
    }
    open.load().map_err(|e| refusal(&e))
}

/// Size of each CPU's buffer of stack memory for this number of CPUs, as the power of two of its
/// pages.
fn stack_bits(cpus: u32, wanted: Option<Bytes>) -> u32 {
    let bits = |bytes: u64| (bytes / PAGE_BYTES / u64::from(cpus.max(1))).max(1).ilog2();
    match wanted {
        Some(bytes) => bits(bytes.0).clamp(*STACK_BITS.start(), MAX_STACK_BITS),
        None => bits(STACK_BUFFER_BYTES).clamp(*STACK_BITS.start(), *STACK_BITS.end()),
    }
}

/// Size of each CPU's buffer for this number of CPUs, as the power of two of its slots.
fn ring_bits(cpus: u32, wanted: Option<Bytes>) -> u32 {
    let bits = |bytes: u64| (bytes / SLOT_SIZE as u64 / u64::from(cpus.max(1))).max(1).ilog2();
    match wanted {
        Some(bytes) => bits(bytes.0).clamp(MIN_RING_BITS, *RING_BITS.end()),
        None => bits(DEFAULT_BUFFER_BYTES).clamp(*RING_BITS.start(), *RING_BITS.end()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_large_on_few_cpus_and_bounded_on_many() {
        assert_eq!(ring_bits(2, None), 18);
        assert_eq!(ring_bits(64, None), 17);
        assert_eq!(ring_bits(1024, None), 14);
        assert_eq!(ring_bits(2, Some(Bytes::from_kib(64))), 10);
        assert_eq!(ring_bits(2, Some(Bytes(0))), MIN_RING_BITS);
        assert_eq!([1, 32, 64, 1024].map(|cpus| stack_bits(cpus, None)), [10, 10, 9, 6]);
        assert_eq!([0, 1 << 20, u64::MAX].map(|bytes| stack_bits(1, Some(Bytes(bytes)))), [6, 8, 19]);
    }
}
