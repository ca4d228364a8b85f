//! What each thread does and when it did it in the traced run, put together to scripts.

use std::collections::HashMap;

use morecores_record::Nanos;

use crate::replay::{Program, Script, Step};
use crate::trace::{Occupant, ThreadId, Timeline, lock_spans};

/// Something that a thread did or waited for at an instant.
#[derive(Clone, Copy, Debug)]
enum Act {
    /// One that needs no look elsewhere.
    Step(Step),
    /// Did what somebody else waits for.
    Mark(Edge),
    /// Waited for that.
    Await(Edge),
}

/// A dependency: of who awaits it on who marks it.
#[derive(Clone, Copy, Debug)]
struct Edge(u32);

/// CPU time that a thread got in one go, without what it spun for locks and what a hypervisor took.
struct Work {
    from: Nanos,
    to: Nanos,
    time: Nanos,
}

/// What all threads do, before it is put in order.
pub(super) struct Sheets {
    acts: Vec<Vec<(Nanos, Act)>>,
    work: Vec<Vec<Work>>,
    edges: u32,
    devices: u32,
}

impl Sheets {
    /// With the CPU time of `threads`, in this order, and nothing else yet.
    pub(super) fn new(timeline: &Timeline, threads: &[ThreadId]) -> Self {
        let place: HashMap<ThreadId, usize> = threads.iter().copied().zip(0..).collect();
        let mut work: Vec<Vec<Work>> = threads.iter().map(|_| Vec::new()).collect();
        for stretch in timeline.cpus.iter().flat_map(|cpu| &cpu.stretches) {
            let Occupant::Thread(id) = stretch.who else { continue };
            let Some(&place) = place.get(&id) else { continue };
            let time = stretch.accounted.unwrap_or(stretch.length()).min(stretch.length());
            work[place].push(Work { from: stretch.from, to: stretch.to, time });
        }
        for work in &mut work {
            work.sort_unstable_by_key(|work| work.from);
        }
        for span in lock_spans(timeline) {
            let Some(&place) = place.get(&span.thread) else { continue };
            let first = work[place].partition_point(|work| work.to <= span.from);
            for work in work[place][first..].iter_mut().take_while(|work| work.from < span.to) {
                let spun = work.to.min(span.to).since(work.from.max(span.from));
                work.time = Nanos(work.time.0.saturating_sub(spun.0));
            }
        }
        Self { acts: threads.iter().map(|_| Vec::new()).collect(), work, edges: 0, devices: 0 }
    }

    fn act(&mut self, thread: u32, at: Nanos, act: Act) {
        self.acts[thread as usize].push((at, act));
    }

    /// At an instant, a thread does this.
    pub(super) fn step(&mut self, thread: u32, at: Nanos, step: Step) {
        if let Step::Serve { device, .. } = step {
            self.devices = self.devices.max(device + 1);
        }
        self.act(thread, at, Act::Step(step));
    }

    /// It makes another one.
    pub(super) fn start(&mut self, thread: u32, at: Nanos, child: u32) {
        self.step(thread, at, Step::Start(child));
    }

    /// What `waker` did at `woken` ends what `waiter` waits for since `since`.
    pub(super) fn edge(&mut self, (waiter, since): (u32, Nanos), (waker, woken): (u32, Nanos)) {
        let edge = Edge(self.edges);
        self.edges += 1;
        self.act(waker, woken, Act::Mark(edge));
        self.act(waiter, since, Act::Await(edge));
    }

    /// Everything in the order of the traced run, with each thread's CPU time in between.
    pub(super) fn program(mut self) -> Program {
        // Which mark of whom each edge is.
        let mut marks = vec![(0, 0); self.edges as usize];
        for (thread, acts) in (0..).zip(&mut self.acts) {
            acts.sort_by_key(|(at, _)| *at);
            let of_thread = acts.iter().filter_map(|(_, act)| match act {
                Act::Mark(edge) => Some(edge.0),
                _ => None,
            });
            for (number, edge) in (1..).zip(of_thread) {
                marks[edge as usize] = (thread, number);
            }
        }
        let scripts = self.acts.iter().zip(&self.work).map(|(acts, work)| script(acts, work, &marks));
        let threads: Vec<Script> = scripts.collect();
        Program { threads, devices: self.devices, ..Program::default() }
    }
}

fn script(acts: &[(Nanos, Act)], work: &[Work], marks: &[(u32, u32)]) -> Script {
    let mut script = Vec::new();
    let (mut next, mut used) = (0, Nanos::ZERO);
    for (at, act) in acts {
        let mut time = Nanos::ZERO;
        while let Some(piece) = work.get(next).filter(|piece| piece.from < *at) {
            let whole = piece.to <= *at;
            let until = if whole { piece.time } else { piece.share(*at) };
            time += Nanos(until.0.saturating_sub(used.0));
            used = until;
            if !whole {
                break;
            }
            (next, used) = (next + 1, Nanos::ZERO);
        }
        run(&mut script, time);
        script.push(match *act {
            Act::Step(step) => step,
            Act::Mark(_) => Step::Mark,
            Act::Await(edge) => {
                let (thread, marks) = marks[edge.0 as usize];
                Step::Await { thread, marks }
            }
        });
    }
    let rest: Nanos = work.get(next..).unwrap_or_default().iter().map(|piece| piece.time).sum();
    run(&mut script, Nanos(rest.0.saturating_sub(used.0)));
    script
}

fn run(script: &mut Script, time: Nanos) {
    if time > Nanos::ZERO {
        script.push(Step::Run(time));
    }
}

impl Work {
    /// What of its time had passed at an instant inside it.
    fn share(&self, at: Nanos) -> Nanos {
        let passed = u128::from(at.since(self.from).0) * u128::from(self.time.0)
            / u128::from(self.to.since(self.from).0.max(1));
        Nanos(passed as u64)
    }
}
