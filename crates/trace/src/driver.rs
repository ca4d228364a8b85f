//! Driver of the BPF programs: loads them for this kernel, attaches them for one run, and collects
//! their records.
//!
//! The programs are in `bpf/`. `load` decides the sizes of their buffers.
//! Dropping it releases everything: links, buffers and threads.

mod costs;
mod features;
mod hold_cost;
mod libbpf;
mod load;
mod lock_uses;
mod notes;
mod reader;
mod ring;
mod samples;
mod stack_copy;
mod stacks;
mod system_state;
mod tid_query;

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::ptr::NonNull;

use libbpf_rs::skel::Skel;
use libbpf_rs::{Link, MapHandle, ProgramInput, ProgramMut};
use morecores_machine::clock::kernel_tick;
use morecores_study::trace::{
    CpuLoss, EventCost, EventSink, KnownThread, LockUses, TRACEPOINTS, Tid, TraceFacts, TraceSource,
    UntracedFact,
};
use morecores_study::{CpuId, CpuSet, Nanos};
use tracing::debug;

use crate::perf::MappingReader;
use crate::wire::PROBES;
use crate::{ContextChecks, LockProbe, Options, TraceError};
use costs::{Costs, Pace};
use features::Features;
use hold_cost::{HoldCost, own_c_library, time_holds};
use libbpf::collect_messages;
use load::{LoadedPrograms, STACK_SHARE, load};
use notes::{
    lost_holds_note, lost_mappings_note, lost_stacks_note, lost_work_note, offline_note, without_stacks_note,
};
use reader::{Reader, ReaderSummary, StackSummary};
use ring::{BufferMaps, Buffers, CpuState, MAX_CPUS};
use samples::SamplingClock;
use tid_query::TidQuery;

pub use libbpf::libbpf_version;

/// Generated from `bpf/trace.bpf.c`.
#[allow(
    missing_docs,
    unreachable_pub,
    unsafe_code,
    unused,
    missing_debug_implementations,
    clippy::all,
    clippy::restriction
)]
pub(crate) mod skel {
    include!(concat!(env!("OUT_DIR"), "/trace.skel.rs"));
}

use skel::TraceSkel;

/// Number of attempts to measure the programs' cost on an unsteady machine.
const MAX_CALIBRATIONS: u32 = 4;
/// The loaded programs.
pub(crate) struct BpfTracer {
    /// Skeleton that owns the programs, and the memory that `Buffers` refers to.
    skel: TraceSkel<'static>,
    features: Features,
    options: Options,
    /// All CPUs that are present.
    cpus: CpuSet,
    /// Sizes of the buffers of a CPU, as in [`LoadedPrograms`].
    slot_bits: u32,
    stack_bits: u32,
    /// Reason why the programs copy no stacks, if so.
    without_stacks: Option<TraceError>,
    /// Cost of one event and of one system call; none if it could not be measured.
    costs: Option<Costs>,
    /// Cost of the probes at one hold of a lock; none without them, or if it could not be measured.
    hold_cost: Option<HoldCost>,
    active: Option<ActiveTrace>,
    /// Files of other mount namespaces in the last trace, by the number of their module.
    located: HashMap<u32, OwnedFd>,
}

/// State that exists only during a trace.
struct ActiveTrace {
    /// Links of the programs: dropping them detaches the programs.
    links: Vec<Link>,
    clock: SamplingClock,
    reader: Reader,
    known: Vec<KnownThread>,
    /// Reason why `known` is empty, if it is.
    unknown: Option<UntracedFact>,
    missed_before: u64,
    /// Reason why no mappings are recorded, if so.
    unmapped: Option<UntracedFact>,
}

impl fmt::Debug for BpfTracer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BpfTracer").field("options", &self.options).field("features", &self.features).finish()
    }
}

impl BpfTracer {
    pub(crate) fn open(options: &Options) -> Result<Self, TraceError> {
        collect_messages();
        let features = Features::read_kernel(options.syscalls)?;
        debug!("the kernel offers {features:?}");
        let cpus = system_state::present_cpus().map_err(TraceError::io("read which CPUs there are"))?;
        let highest = cpus.iter().next_back().map_or(0, |cpu| cpu.0);
        if highest >= MAX_CPUS {
            return Err(TraceError::TooManyCpus(highest));
        }
        let LoadedPrograms { skel, slot_bits, stack_bits, without_stacks } =
            load(options, &features, highest + 1)?;
        let mut tracer = Self {
            skel,
            features,
            options: options.clone(),
            cpus,
            slot_bits,
            stack_bits,
            without_stacks,
            costs: None,
            hold_cost: None,
            active: None,
            located: HashMap::new(),
        };
        tracer.calibrate()?;
        tracer.calibrate_holds()?;
        debug!("buffers of 2^{slot_bits} slots for CPUs {}, costs: {:?}", tracer.cpus, tracer.costs);
        let bss = tracer.skel.maps.bss_data.as_deref_mut().ok_or(TraceError::NotRunning)?;
        bss.allotted_count = options.allotted.len() as u32;
        Ok(tracer)
    }

    /// Measures the cost of an event and of a system call with a traced ping-pong of two own
    /// threads, whose records are discarded. It measures without the programs, with them, and
    /// without them again. It repeats this until the machine was steady in between, or until it
    /// reaches the limit of attempts.
    fn calibrate(&mut self) -> Result<(), TraceError> {
        let io = TraceError::io("measure what tracing costs");
        let Some(cpu) = self.options.allotted.first() else { return Ok(()) };
        let mut before = Pace::measure(cpu).map_err(io)?;
        let mut buffers = self.buffers()?;
        self.mark_next_child()?;
        let (mut without, mut with) = (before, None::<Pace>);
        for _ in 0..MAX_CALIBRATIONS {
            let links = self.attach()?;
            let watched = Pace::measure(cpu);
            drop(links);
            for cpu in self.cpus.iter() {
                buffers.discard(cpu.0);
            }
            let watched = watched.map_err(TraceError::io("measure what tracing costs"))?;
            let watched = with.map_or(watched, |with| with.faster(watched));
            let after = Pace::measure(cpu).map_err(TraceError::io("measure what tracing costs"))?;
            (without, with) = (without.faster(after), Some(watched));
            self.costs = watched.costs(without);
            if self.costs.is_some() && before.agrees_with(after) {
                break;
            }
            before = after;
        }
        Ok(())
    }

    /// Measures the cost of the probes at locks, if there are any, with those of this process's own
    /// C library.
    fn calibrate_holds(&mut self) -> Result<(), TraceError> {
        if self.options.lock_probes.is_empty() {
            return Ok(());
        }
        let probes = own_c_library().and_then(|library| LockProbe::in_files(&[library]).ok());
        let (Some(cpu), Some(probes)) = (self.options.allotted.first(), probes) else { return Ok(()) };
        let Some(without) = time_holds(cpu, || ()) else { return Ok(()) };
        let mut buffers = self.buffers()?;
        self.mark_next_child()?;
        let links = (self.attach()?, self.attach_lock_probes(&probes)?);
        let io = |error: libbpf_rs::Error| TraceError::Load(error.to_string());
        let uses = MapHandle::try_from(&self.skel.maps.lock_uses).map_err(io)?;
        let mut measured = Nanos(u64::MAX);
        let with = time_holds(cpu, || {
            let holds =
                lock_uses::read(&uses).into_iter().map(|held| Nanos(held.held_ns.0 / held.count.max(1)));
            measured = holds.fold(measured, Nanos::min);
            lock_uses::clear(&uses);
        });
        drop(links);
        for cpu in self.cpus.iter() {
            buffers.discard(cpu.0);
        }
        self.hold_cost = with.and_then(|with| HoldCost::new(without, with, measured));
        debug!("cost of the probes at a lock: {:?}", self.hold_cost);
        Ok(())
    }

    pub(crate) fn context_checks(&self) -> ContextChecks {
        let [thread, soft_interrupt, interrupt] =
            self.skel.maps.bss_data.as_deref().map_or([[0; 2]; 3], |bss| bss.context_checks);
        ContextChecks { thread, soft_interrupt, interrupt }
    }

    pub(crate) fn begin(&mut self, sink: EventSink) -> Result<(), TraceError> {
        let missed_before = self.missed_events();
        let bss = self.skel.maps.bss_data.as_deref_mut().ok_or(TraceError::NotRunning)?;
        bss.offline_cpus.fill(0);
        bss.lost_work = 0;
        // The measurement of the costs has raised the shares.
        bss.cpus.iter_mut().for_each(|cpu| cpu.shares = Default::default());
        bss.lost_holds = 0;
        lock_uses::clear(&self.skel.maps.holds);
        lock_uses::clear(&self.skel.maps.lock_uses);
        self.mark_next_child()?;
        let buffers = self.buffers()?;
        let tid_query =
            TidQuery::new(&self.skel.progs.on_report_tid).map_err(TraceError::io("keep a program"))?;
        let (mappings, unmapped) = self.start_mappings(&tid_query);
        let cpus = self.cpus.clone();
        let reader = Reader::start(buffers, mappings, cpus, &self.options.allotted, tid_query, sink)?;
        let links = match self.attach() {
            Ok(links) => links,
            Err(error) => {
                let _ = reader.finish();
                return Err(error);
            }
        };
        let probes = self.attach_lock_probes(&self.options.lock_probes);
        let links = match probes {
            Ok(probes) => links.into_iter().chain(probes).collect(),
            Err(error) => {
                drop(links);
                let _ = reader.finish();
                return Err(error);
            }
        };
        // Forks are recorded from now on, so that each thread is in the list or in the events.
        let (known, unknown) = system_state::known_threads();
        // A trace without samples is still useful.
        let clock = SamplingClock::start(&self.skel.progs.on_sample, &self.cpus);
        self.active = Some(ActiveTrace { links, clock, reader, known, unknown, missed_before, unmapped });
        Ok(())
    }

    pub(crate) fn end(&mut self) -> Result<TraceFacts, TraceError> {
        let mut active = self.active.take().ok_or(TraceError::NotRunning)?;
        let clock = std::mem::take(&mut active.clock);
        let sample_period_ns = clock.period();
        let untraced =
            self.features.untraced().into_iter().chain(clock.untraced()).chain(active.unknown.take());
        let unmeasured_costs = self.costs.is_none().then(|| UntracedFact {
            what: "the cost of the tracer itself".to_owned(),
            why: "the machine was too noisy to measure it".to_owned(),
        });
        let untraced = untraced.chain(self.offline().map(offline_note)).chain(unmeasured_costs);
        let untraced = untraced.chain(lost_work_note(self.lost_work())).chain(active.unmapped.take());
        let mut untraced: Vec<UntracedFact> = untraced.collect();
        drop(clock);
        active.links.clear();
        let missed = self.missed_events() - active.missed_before;
        let ReaderSummary { events, tid, dropped, counts, mappings, stacks } = active.reader.finish()?;
        untraced.extend(lost_mappings_note(mappings.lost));
        untraced.extend(lost_stacks_note(stacks));
        untraced.extend(self.without_stacks.as_ref().map(without_stacks_note));
        self.located = mappings.located;
        let root = self.root().ok_or(TraceError::NoRoot)?;
        let lost = dropped.into_iter().filter(|(_, dropped)| *dropped > 0);
        let with_calls = self.options.syscalls;
        let lock_uses = self.lock_uses();
        let holds = lock_uses.as_ref().map_or(0, |all| all.uses.iter().map(|held| held.count).sum());
        untraced.extend(lost_holds_note(lock_uses.as_ref().map_or(0, |all| all.lost)));
        Ok(TraceFacts {
            source: if with_calls { TraceSource::BpfWithSystemCalls } else { TraceSource::Bpf },
            root,
            known: active.known,
            events,
            lost: lost.map(|(cpu, dropped)| CpuLoss { cpu, dropped }).collect(),
            missed,
            tracer: vec![tid],
            costs: self.event_costs(counts, stacks, holds),
            sample_period_ns,
            tick_ns: kernel_tick(),
            interrupts_accounted: self.features.interrupts_accounted,
            held_is_told: true,
            wake_latency_ns: None,
            stack_share: self.features.locks.then_some(STACK_SHARE),
            stacks: stacks::read_stacks(&self.skel.maps.stacks),
            modules: mappings.modules,
            functions: Vec::new(),
            source_map: Default::default(),
            generated: Vec::new(),
            variables: Vec::new(),
            lock_uses,
            interrupts: system_state::interrupt_names().unwrap_or_default(),
            untraced,
        })
    }

    pub(crate) fn take_located_files(&mut self) -> HashMap<u32, OwnedFd> {
        std::mem::take(&mut self.located)
    }

    /// Starts to record the mappings of code, or gives the reason why not. A trace without them is
    /// still useful.
    fn start_mappings(&self, tid_query: &TidQuery) -> (Option<MappingReader>, Option<UntracedFact>) {
        let seen = Tid(rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned());
        let result = match tid_query.calling_thread() {
            // Records of perf events have the numbers of this process's pid namespace.
            Ok(tid) if tid != seen => Err("morecores runs in a pid namespace of its own".to_owned()),
            Ok(_) => MappingReader::start(&self.cpus).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        let unmapped = |why| UntracedFact { what: "the functions that the threads ran".to_owned(), why };
        result.map_or_else(|why| (None, Some(unmapped(why))), |reader| (Some(reader), None))
    }

    /// Declares the calling thread's next child to be the command.
    fn mark_next_child(&mut self) -> Result<(), TraceError> {
        let result = self.skel.progs.on_mark_next_child.test_run(ProgramInput::default());
        result.map_err(|e| TraceError::Load(e.to_string()))?;
        Ok(())
    }

    /// The command's main process, after its creation.
    fn root(&self) -> Option<Tid> {
        self.skel.maps.bss_data.as_deref().map(|bss| Tid(bss.root)).filter(|root| root.0 != 0)
    }

    #[allow(unsafe_code)]
    fn buffers(&mut self) -> Result<Buffers, TraceError> {
        let bss = self.skel.maps.bss_data.as_deref_mut().ok_or(TraceError::NotRunning)?;
        let states = NonNull::from(&mut bss.cpus).cast::<CpuState>();
        let tree = NonNull::from(&mut bss.tree).cast();
        let count = self.cpus.iter().next_back().map_or(1, |cpu| cpu.0 + 1);
        let maps = BufferMaps {
            slots: self.skel.maps.slots.as_fd(),
            slot_bits: self.slot_bits,
            stack_memory: self.skel.maps.stack_memory.as_fd(),
            stack_bits: self.stack_bits,
        };
        // SAFETY: the skeleton, which has the states and the tree mapped, outlives the reader:
        // `ActiveTrace` is dropped before it, and `end` and the failing `begin` wait for the
        // reader.
        let buffers = unsafe { Buffers::map(&maps, count, states, tree) };
        buffers.map_err(TraceError::io("map the tracer's buffers"))
    }

    /// Cost of the recorded events, by tracepoint.
    fn event_costs(&self, counts: [u64; PROBES.len()], stacks: StackSummary, holds: u64) -> Vec<EventCost> {
        let Some(Costs { event, call }) = self.costs else { return Vec::new() };
        let named = PROBES.iter().zip(counts).filter(|(probe, count)| !probe.is_empty() && *count > 0);
        let cost = |probe: &str| if probe == "sys_exit" { call } else { event };
        let events =
            named.map(|(probe, count)| EventCost { probe: (*probe).to_owned(), count, each_ns: cost(probe) });
        let copies = (stacks.copied > 0).then(|| EventCost {
            probe: EventCost::USER_STACK.to_owned(),
            count: stacks.copied,
            each_ns: Nanos(stacks.took.0 / stacks.copied),
        });
        let lock_calls = self.hold_cost.filter(|_| holds > 0).map(|cost| EventCost {
            probe: EventCost::LOCK_HOLD.to_owned(),
            count: holds,
            each_ns: cost.calls,
        });
        events.chain(copies).chain(lock_calls).collect()
    }

    fn attach_lock_probes(&self, probes: &[LockProbe]) -> Result<Vec<Link>, TraceError> {
        lock_uses::attach(&self.skel.progs.on_lock_call, probes, self.features.uprobes_at_once)
    }

    /// Sums over all holds of locks, if they were counted.
    fn lock_uses(&self) -> Option<LockUses> {
        let are_counted = !self.options.lock_probes.is_empty();
        let files: BTreeSet<PathBuf> =
            self.options.lock_probes.iter().filter_map(|probe| probe.file().canonicalize().ok()).collect();
        are_counted.then(|| LockUses {
            files: files.into_iter().map(|file| file.to_string_lossy().into_owned()).collect(),
            uses: lock_uses::read(&self.skel.maps.lock_uses),
            probes_ns: self.hold_cost.map(|cost| cost.within),
            lost: self.skel.maps.bss_data.as_deref().map_or(0, |bss| bss.lost_holds),
        })
    }

    /// Attaches the programs for the lifetime of the result.
    fn attach(&mut self) -> Result<Vec<Link>, TraceError> {
        let mut links = Vec::new();
        let progs = &mut self.skel.progs;
        // New threads come before switches: their first events find them in the tree.
        let programs: [&mut ProgramMut<'_>; TRACEPOINTS.len()] = [
            &mut progs.on_new_task,
            &mut progs.on_exec,
            &mut progs.on_exit,
            &mut progs.on_rename,
            &mut progs.on_softirq_raise,
            &mut progs.on_softirq_entry,
            &mut progs.on_softirq_exit,
            &mut progs.on_irq_entry,
            &mut progs.on_irq_exit,
            &mut progs.on_timer_entry,
            &mut progs.on_timer_exit,
            &mut progs.on_queue_work,
            &mut progs.on_work_start,
            &mut progs.on_work_end,
            &mut progs.on_contention_begin,
            &mut progs.on_contention_end,
            &mut progs.on_hotplug,
            &mut progs.on_sys_enter,
            &mut progs.on_sys_exit,
            &mut progs.on_wakeup_new,
            &mut progs.on_waking,
            &mut progs.on_switch,
        ];
        for program in programs {
            if self.features.includes_program(program.section()) {
                let link = program.attach_trace().map_err(|error| TraceError::Attach {
                    tracepoint: program.section().to_string_lossy().into_owned(),
                    reason: error.to_string(),
                })?;
                links.push(link);
            }
        }
        Ok(links)
    }

    /// Number of queued work items whose originator could not be stored.
    fn lost_work(&self) -> u64 {
        self.skel.maps.bss_data.as_deref().map_or(0, |bss| bss.lost_work)
    }

    /// Allotted CPUs that were taken offline since the run began.
    fn offline(&self) -> impl Iterator<Item = CpuId> {
        let offline =
            self.skel.maps.bss_data.as_deref().map_or([0; MAX_CPUS as usize / 64], |bss| bss.offline_cpus);
        let allotted = self.options.allotted.iter();
        allotted.filter(move |cpu| offline[cpu.0 as usize / 64] >> (cpu.0 % 64) & 1 == 1)
    }

    /// Events that no program saw because a program was already running there. The count covers all
    /// programs since they were loaded.
    fn missed_events(&self) -> u64 {
        costs::program_infos(self.skel.object().progs()).map(|info| info.recursion_misses).sum()
    }
}

/// Releases the state of a running trace before the programs.
impl Drop for BpfTracer {
    fn drop(&mut self) {
        if let Some(mut active) = self.active.take() {
            active.links.clear();
            let _ = active.reader.finish();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::mem::MaybeUninit;

    use libbpf_rs::skel::{OpenSkel, SkelBuilder};

    use super::skel::TraceSkelBuilder;
    use super::*;

    #[test]
    fn no_thread_counts_as_confined_while_costs_are_measured() {
        const NAME: &str = "no_thread_counts_as_confined_while_costs_are_measured";
        let tracer = match BpfTracer::open(&Options::new("0-1".parse().expect("CPUs"))) {
            Ok(tracer) => tracer,
            Err(error) => return morecores_testkit::report_skip(NAME, &error.to_string()),
        };
        let bss = tracer.skel.maps.bss_data.as_deref().expect("mapped");
        assert_eq!((bss.confined_any, bss.allotted_count), (0, 2));
    }

    #[test]
    fn abandoned_work_items_make_room_and_lost_ones_are_reported() {
        let mut place = MaybeUninit::uninit();
        let open = TraceSkelBuilder::default().open(&mut place).expect("our own object");
        assert_eq!(open.maps.queued_work.map_type(), libbpf_rs::MapType::LruHash);
        assert_eq!(lost_work_note(0), None);
        assert!(lost_work_note(3).expect("three").what.contains("origin of 3 pieces"));
    }

    #[test]
    fn programs_and_listed_tracepoints_correspond() {
        let mut place = MaybeUninit::uninit();
        let open = TraceSkelBuilder::default().open(&mut place).expect("our own object");
        let sections = open.open_object().progs().map(|program| program.section().to_owned());
        let mut attached: Vec<String> = sections
            .filter_map(|section| Some(section.to_str()?.strip_prefix("tp_btf/")?.to_owned()))
            .collect();
        attached.sort_unstable();
        let mut listed = TRACEPOINTS.map(|tracepoint| tracepoint.name);
        listed.sort_unstable();
        assert_eq!(attached, listed);
    }
}
