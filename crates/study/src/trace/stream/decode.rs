//! Decoder of a frame's bytes into events: the inverse of `encode`. The input may be any bytes.
//! For other input than an encoder's, the result is arbitrary events or [`DecodeError`], within the
//! bounds of a frame.

use crate::cpu::MAX_CPU;
use crate::trace::{
    Accounts, CodeAddress, Comm, Contention, Event, EventKind, Exec, Fork, FutexWait, HoldReason, Interrupt,
    KnownLock, LockFlags, Mapping, Object, Sample, SampleMode, StackEnd, StackFrame, StackMoment, Switch,
    SystemCall, ThreadExit, Tid, UserStack, Waker, Waking, Work,
};
use crate::{CpuId, CpuSet, Nanos};

use super::frame::{FrameHeader, MOST_CONFINED_CPUS};
use super::state::{EARLIER, FLAG, FLAGS_SHIFT, State, departure, kind};
use super::varint::{ByteReader, DecodeError, unzigzag};

/// Decodes all events of a frame; returns them, and the number of events whose kind this version
/// does not know.
pub(super) fn decode(header: &FrameHeader, padded: &[u8]) -> Result<(Vec<Event>, u64), DecodeError> {
    let mut decoder = Decoder { input: ByteReader::new(padded), state: State::new(header.time), confined: 0 };
    // `FrameHeader::parse` ensures the bounds.
    let mut events = Vec::with_capacity(header.events as usize);
    let mut unknown = 0;
    for _ in 0..header.events {
        match decoder.event()? {
            Some((at, kind)) => events.push(Event { at, cpu: CpuId(header.cpu), kind }),
            None => unknown += 1,
        }
    }
    if decoder.input.is_empty() { Ok((events, unknown)) } else { Err(DecodeError) }
}

struct Decoder<'a> {
    input: ByteReader<'a>,
    state: State,
    /// Number of CPUs in the sets of the frame so far.
    confined: u32,
}

impl Decoder<'_> {
    /// Next event; `None` if its kind is unknown.
    #[inline]
    fn event(&mut self) -> Result<Option<(Nanos, EventKind)>, DecodeError> {
        let first = self.input.byte()?;
        let distance = self.input.number()?;
        let before = self.state.time;
        self.state.time =
            if first & EARLIER == 0 { before.wrapping_add(distance) } else { before.wrapping_sub(distance) };
        let at = Nanos(self.state.time);
        let flag = |index: usize| first & FLAG[index] != 0;
        let kind = match first & kind::MASK {
            kind::SWITCH => self.switch(flag(0), flag(1))?,
            kind::WAKING => self.waking(flag(0), flag(1))?,
            kind::FUTEX_WAIT => self.futex_wait()?,
            kind::HELD => self.held((first & !EARLIER) >> FLAGS_SHIFT)?,
            kind::MAPPING => self.mapping()?,
            kind::FRAME => self.frame()?,
            kind::USER_STACK => self.user_stack((first & !EARLIER) >> FLAGS_SHIFT)?,
            kind if kind >= kind::FIRST_WITH_LENGTH => {
                let length = self.input.number()?;
                self.input.skip(length)?;
                return Ok(None);
            }
            kind => self.rare_event(kind, (first & !EARLIER) >> FLAGS_SHIFT)?,
        };
        Ok(Some((at, kind)))
    }

    #[inline]
    fn switch(&mut self, interrupted: bool, expected: bool) -> Result<EventKind, DecodeError> {
        let prev = if expected { self.state.running } else { self.thread()? };
        let (prev_state, call) = departure(self.input.number()?)?;
        let ran = self.state.ran();
        let prev_runtime = Nanos(self.state.runtime(prev, ran, self.input.number()?));
        let interrupts = Nanos(if interrupted { self.input.number()? } else { 0 });
        let next = self.thread()?;
        self.state.switch(next);
        Ok(EventKind::Switch(Switch { prev, prev_state, call, prev_runtime, interrupts, next }))
    }

    #[inline]
    fn waking(&mut self, io_wait: bool, by_running: bool) -> Result<EventKind, DecodeError> {
        let tid = self.thread()?;
        let by = if by_running { Waker::Thread(self.state.running) } else { self.waker()? };
        Ok(EventKind::Waking(Waking { tid, by, io_wait }))
    }

    fn rare_event(&mut self, kind: u8, flags: u8) -> Result<EventKind, DecodeError> {
        Ok(match kind {
            kind::FORK => {
                let (parent, child, process) = (self.thread()?, self.thread()?, self.thread()?);
                EventKind::Fork(Fork { parent, child, process })
            }
            kind::EXEC => {
                let (tid, was, name) = (self.thread()?, self.thread()?, self.name()?);
                EventKind::Exec(Exec { tid, was, name, accounts: self.accounts(tid)? })
            }
            kind::RENAME => EventKind::Rename { tid: self.thread()?, name: self.name()? },
            kind::EXIT => {
                let tid = self.thread()?;
                EventKind::Exit(ThreadExit { tid, accounts: self.accounts(tid)? })
            }
            kind::WORK => {
                let worker = self.thread()?;
                let queued_by = if flags & 1 != 0 { Some(self.waker()?) } else { None };
                EventKind::Work(Work { worker, queued_by })
            }
            kind::CONTENTION => EventKind::Contention(self.contention(flags)?),
            kind::SAMPLE => EventKind::Sample(self.sample(flags)?),
            kind::AWAITS => EventKind::Awaits { tid: self.thread()?, object: self.object(flags)? },
            kind::CONFINED => EventKind::Confined { tid: self.thread()?, allowed: self.cpus()? },
            kind::SYSTEM_CALL => {
                let (tid, number) = (self.thread()?, self.input.small()?);
                let (took, result) = (Nanos(self.input.number()?), self.input.signed()?);
                EventKind::SystemCall(SystemCall { tid, number, took, result, object: self.object(flags)? })
            }
            kind::LOST => EventKind::Lost { events: self.input.number()? },
            _ => return Err(DecodeError),
        })
    }

    fn futex_wait(&mut self) -> Result<EventKind, DecodeError> {
        let [tid, operation, expected] = self.fields()?;
        let wait = FutexWait { operation: narrow(operation)?, expected: narrow(expected)? };
        Ok(EventKind::FutexWait { tid: Tid(narrow(tid)?), wait })
    }

    fn held(&mut self, by: u8) -> Result<EventKind, DecodeError> {
        let by = match by {
            0 => HoldReason::Quota,
            1 => HoldReason::Freezer,
            2 => HoldReason::RealTimeBudget,
            _ => return Err(DecodeError),
        };
        let [tid] = self.fields()?;
        Ok(EventKind::Held { tid: Tid(narrow(tid)?), by })
    }

    fn mapping(&mut self) -> Result<EventKind, DecodeError> {
        let [process, start, length, offset, module] = self.fields()?;
        let (process, module) = (Tid(narrow(process)?), narrow(module)?);
        Ok(EventKind::Mapping(Mapping { process, start, length, offset, module }))
    }

    fn frame(&mut self) -> Result<EventKind, DecodeError> {
        let [number, caller, module, offset] = self.fields()?;
        let number = narrow(number)?;
        let caller = match caller.checked_sub(1) {
            Some(distance) => {
                Some(narrow(u64::from(number).wrapping_sub(unzigzag(distance).cast_unsigned()))?)
            }
            None => None,
        };
        let code = CodeAddress { module: narrow(module)?, offset };
        Ok(EventKind::Frame(StackFrame { number, caller, code }))
    }

    fn user_stack(&mut self, moment: u8) -> Result<EventKind, DecodeError> {
        let moment = match moment {
            0 => StackMoment::Sample,
            1 => StackMoment::Wait,
            2 => StackMoment::Waking,
            _ => return Err(DecodeError),
        };
        let [tid, frame, end, weight_log2] = self.fields()?;
        let end = match end {
            0 => StackEnd::Outermost,
            1 => StackEnd::UnknownCode,
            2 => StackEnd::MissingMemory,
            _ => return Err(DecodeError),
        };
        let frame = frame.checked_sub(1).map(narrow).transpose()?;
        let (tid, weight_log2) = (Tid(narrow(tid)?), narrow(weight_log2)?);
        Ok(EventKind::UserStack(UserStack { tid, moment, frame, end, weight_log2 }))
    }

    /// Decodes the fields of a kind with a length. Fields after the known ones come from a later
    /// version.
    fn fields<const N: usize>(&mut self) -> Result<[u64; N], DecodeError> {
        let length = self.input.number()?;
        let before = self.input.remaining();
        let mut fields = [0; N];
        for field in &mut fields {
            *field = self.input.number()?;
        }
        let read = before - self.input.remaining();
        self.input.skip(length.checked_sub(read as u64).ok_or(DecodeError)?)?;
        Ok(fields)
    }

    fn contention(&mut self, known: u8) -> Result<Contention, DecodeError> {
        let tid = self.thread()?;
        let lock = self.state.lock.value(self.input.number()?);
        let waited = Nanos(self.input.number()?);
        let flags = LockFlags(self.input.byte()?);
        let known = match known {
            0 => KnownLock::None,
            1 => KnownLock::MmapLock,
            2 => KnownLock::RunQueue,
            _ => return Err(DecodeError),
        };
        let stack = match self.input.number()? {
            0 => None,
            stack => Some(u32::try_from(stack - 1).map_err(|_| DecodeError)?),
        };
        Ok(Contention { tid, lock, waited, flags, known, stack })
    }

    fn sample(&mut self, mode_code: u8) -> Result<Sample, DecodeError> {
        let mode = match mode_code {
            0 => SampleMode::User,
            1 => SampleMode::Kernel,
            2 => SampleMode::Interrupt,
            _ => return Err(DecodeError),
        };
        let tid = self.thread()?;
        let spins = match self.input.byte()? {
            0 => false,
            1 => true,
            _ => return Err(DecodeError),
        };
        let address = self.state.address[usize::from(mode_code)].value(self.input.number()?);
        Ok(Sample { tid, mode, address, spins })
    }

    #[inline]
    fn thread(&mut self) -> Result<Tid, DecodeError> {
        let code = self.input.number()?;
        self.state.thread(code)
    }

    fn waker(&mut self) -> Result<Waker, DecodeError> {
        Ok(match self.input.byte()? {
            0 => Waker::Unknown,
            1 => Waker::Thread(self.thread()?),
            2 => Waker::Interrupt(self.interrupt()?),
            3 => Waker::SoftIrqOfThread { vector: self.input.byte()?, tid: self.thread()? },
            4 => Waker::SoftIrqOfInterrupt { vector: self.input.byte()?, interrupt: self.interrupt()? },
            _ => return Err(DecodeError),
        })
    }

    fn interrupt(&mut self) -> Result<Interrupt, DecodeError> {
        Ok(match self.input.number()? {
            0 => Interrupt::Other,
            1 => Interrupt::Timer,
            number => Interrupt::Device(u32::try_from(number - 2).map_err(|_| DecodeError)?),
        })
    }

    fn name(&mut self) -> Result<Comm, DecodeError> {
        let length = usize::from(self.input.byte()?);
        let bytes = self.input.bytes(length)?;
        let mut name = Comm::default();
        name.0.get_mut(..length).ok_or(DecodeError)?.copy_from_slice(bytes);
        Ok(name)
    }

    fn accounts(&mut self, tid: Tid) -> Result<Accounts, DecodeError> {
        Ok(Accounts {
            runtime: Nanos(self.state.runtime(tid, 0, self.input.number()?)),
            user: Nanos(self.input.number()?),
            system: Nanos(self.input.number()?),
            minor_faults: self.input.number()?,
            major_faults: self.input.number()?,
        })
    }

    fn object(&mut self, code: u8) -> Result<Object, DecodeError> {
        Ok(match code {
            0 => Object::None,
            1 => Object::Futex(self.state.futex.value(self.input.number()?)),
            2 => Object::Inode(self.state.inode.value(self.input.number()?)),
            _ => Object::Process(self.thread()?),
        })
    }

    fn cpus(&mut self) -> Result<CpuSet, DecodeError> {
        let mut set = CpuSet::new();
        let mut free = 0_u32;
        loop {
            let distance: u32 = self.input.small()?;
            if distance == 0 {
                return Ok(set);
            }
            let first = free.checked_add(distance - 1).ok_or(DecodeError)?;
            let last =
                first.checked_add(self.input.small()?).filter(|&last| last <= MAX_CPU).ok_or(DecodeError)?;
            // A few bytes can stand for thousands of CPUs. The CPUs are counted, so that they
            // cannot fill the memory.
            self.confined += last - first + 1;
            if self.confined > MOST_CONFINED_CPUS {
                return Err(DecodeError);
            }
            (first..=last).for_each(|cpu| {
                set.insert(CpuId(cpu));
            });
            free = last + 1;
        }
    }
}

/// Number in fewer bits.
fn narrow<T: TryFrom<u64>>(number: u64) -> Result<T, DecodeError> {
    T::try_from(number).map_err(|_| DecodeError)
}
