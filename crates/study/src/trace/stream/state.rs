//! State that the encoder and the decoder of one frame both keep about the previous events, so that
//! the next event is short. Every frame starts with a fresh state. The rules are part of the
//! format: docs/format.md, "Events".

use crate::trace::{Call, PrevState, Tid};

use super::varint::{DecodeError, unzigzag, zigzag};

/// Kinds of events: the low five bits of the first byte.
pub(super) mod kind {
    pub(in super::super) const SWITCH: u8 = 0;
    pub(in super::super) const WAKING: u8 = 1;
    pub(in super::super) const FORK: u8 = 2;
    pub(in super::super) const EXEC: u8 = 3;
    pub(in super::super) const RENAME: u8 = 4;
    pub(in super::super) const EXIT: u8 = 5;
    pub(in super::super) const WORK: u8 = 6;
    pub(in super::super) const CONTENTION: u8 = 7;
    pub(in super::super) const SAMPLE: u8 = 8;
    pub(in super::super) const AWAITS: u8 = 9;
    pub(in super::super) const CONFINED: u8 = 10;
    pub(in super::super) const SYSTEM_CALL: u8 = 11;
    pub(in super::super) const LOST: u8 = 12;
    /// From this kind on, the length in bytes precedes the fields of an event, and the event does
    /// not change the state.
    pub(in super::super) const FIRST_WITH_LENGTH: u8 = 16;
    pub(in super::super) const FUTEX_WAIT: u8 = 16;
    pub(in super::super) const HELD: u8 = 17;
    pub(in super::super) const MAPPING: u8 = 18;
    pub(in super::super) const FRAME: u8 = 19;
    pub(in super::super) const USER_STACK: u8 = 20;
    /// All bits of the kind.
    pub(in super::super) const MASK: u8 = 31;
}

/// Flag in the first byte of any event: the event is earlier than the previous event.
pub(super) const EARLIER: u8 = 1 << 7;
/// Two bits of the first byte; their meaning depends on the kind.
pub(super) const FLAG: [u8; 2] = [1 << 5, 1 << 6];
/// Position of those two bits.
pub(super) const FLAGS_SHIFT: u32 = 5;

/// Slots of the table of run times. Two threads that share a slot only cost additional bytes.
const RUNTIMES: usize = 256;

/// Code of [`Tid::IDLE`].
const IDLE_CODE: u64 = 0;
/// Code of the running thread.
const RUNNING_CODE: u64 = 1;
/// First free code; the codes below it are taken.
const FIRST_DELTA: u64 = 2;

/// Value that is written as its distance from the previous value of the same kind.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Last(u64);

impl Last {
    #[inline]
    pub(super) fn code(&mut self, value: u64) -> u64 {
        let code = zigzag(value.wrapping_sub(self.0).cast_signed());
        self.0 = value;
        code
    }

    #[inline]
    pub(super) fn value(&mut self, code: u64) -> u64 {
        self.0 = self.0.wrapping_add_signed(unzigzag(code));
        self.0
    }
}

/// State of one frame's encoder or decoder.
#[derive(Debug)]
pub(super) struct State {
    /// Time of the previous event.
    pub(super) time: u64,
    /// Thread that the last switch started.
    pub(super) running: Tid,
    pub(super) lock: Last,
    pub(super) futex: Last,
    pub(super) inode: Last,
    /// Addresses of samples, by mode.
    pub(super) address: [Last; 3],
    /// Last thread that was written as a distance.
    thread: u32,
    /// Time of the last switch.
    switched: u64,
    /// Run times, by thread number modulo the length.
    runtimes: [u64; RUNTIMES],
}

impl State {
    /// Creates the state at the beginning of a frame whose header gives this time.
    pub(super) fn new(time: u64) -> Self {
        Self {
            time,
            running: Tid::IDLE,
            lock: Last::default(),
            futex: Last::default(),
            inode: Last::default(),
            address: [Last::default(); 3],
            thread: 0,
            switched: time,
            runtimes: [0; RUNTIMES],
        }
    }

    #[inline]
    pub(super) fn thread_code(&mut self, tid: Tid) -> u64 {
        if tid == Tid::IDLE {
            IDLE_CODE
        } else if tid == self.running {
            RUNNING_CODE
        } else {
            let distance = tid.0.wrapping_sub(self.thread).cast_signed();
            self.thread = tid.0;
            // The distance modulo 2^32 fits 33 bits with its sign.
            zigzag(i64::from(distance)) + FIRST_DELTA
        }
    }

    #[inline]
    pub(super) fn thread(&mut self, code: u64) -> Result<Tid, DecodeError> {
        match code {
            IDLE_CODE => Ok(Tid::IDLE),
            RUNNING_CODE => Ok(self.running),
            code => {
                let distance = i32::try_from(unzigzag(code - FIRST_DELTA)).map_err(|_| DecodeError)?;
                self.thread = self.thread.wrapping_add_signed(distance);
                Ok(Tid(self.thread))
            }
        }
    }

    /// Code of a run time: its distance from the sum of the thread's previous run time and `ran`.
    #[inline]
    pub(super) fn runtime_code(&mut self, tid: Tid, ran: u64, runtime: u64) -> u64 {
        let expected = self.expected(tid, ran);
        self.runtimes[tid.0 as usize % RUNTIMES] = runtime;
        zigzag(runtime.wrapping_sub(expected).cast_signed())
    }

    #[inline]
    pub(super) fn runtime(&mut self, tid: Tid, ran: u64, code: u64) -> u64 {
        let runtime = self.expected(tid, ran).wrapping_add_signed(unzigzag(code));
        self.runtimes[tid.0 as usize % RUNTIMES] = runtime;
        runtime
    }

    /// Expected run time of a thread. A slot of zero means that this frame has not met the thread,
    /// or that the source reports no run times.
    #[inline]
    fn expected(&self, tid: Tid, ran: u64) -> u64 {
        match self.runtimes[tid.0 as usize % RUNTIMES] {
            0 => 0,
            last => last.wrapping_add(ran),
        }
    }

    /// Time from the last switch to the current event.
    #[inline]
    pub(super) fn ran(&self) -> u64 {
        self.time.wrapping_sub(self.switched)
    }

    /// Records a switch at the current event.
    #[inline]
    pub(super) fn switch(&mut self, next: Tid) {
        self.running = next;
        self.switched = self.time;
    }
}

/// Reason for leaving and system call, as one number: eight times the call, plus the reason.
#[inline]
pub(super) fn departure_code(prev_state: PrevState, call: Call) -> u64 {
    let prev_state = match prev_state {
        PrevState::Preempted => 0,
        PrevState::Asleep => 1,
        PrevState::Uninterruptible => 2,
        PrevState::Stopped => 3,
        PrevState::Dead => 4,
        PrevState::Idle => 5,
        PrevState::Unknown => 6,
    };
    let call = match call {
        Call::Unknown => 0,
        Call::Fault => 1,
        Call::Number(number) => u64::from(number) + 2,
    };
    call << 3 | prev_state
}

/// Inverse of [`departure_code`].
#[inline]
pub(super) fn departure(code: u64) -> Result<(PrevState, Call), DecodeError> {
    let prev_state = match code & 7 {
        0 => PrevState::Preempted,
        1 => PrevState::Asleep,
        2 => PrevState::Uninterruptible,
        3 => PrevState::Stopped,
        4 => PrevState::Dead,
        5 => PrevState::Idle,
        6 => PrevState::Unknown,
        _ => return Err(DecodeError),
    };
    let call = match code >> 3 {
        0 => Call::Unknown,
        1 => Call::Fault,
        number => Call::Number(u16::try_from(number - 2).map_err(|_| DecodeError)?),
    };
    Ok((prev_state, call))
}
