//! Clocks: the only way in which time enters the engine.

use serde::{Deserialize, Serialize};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A moment of the wall clock: milliseconds since 1970.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// RFC 3339 in UTC with milliseconds.
    pub fn rfc3339(self) -> String {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(time) => format!("{time:.3}"),
            Err(_) => self.0.to_string(),
        }
    }

    /// Later by a duration.
    pub fn after(self, by: Duration) -> Timestamp {
        let by = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
        Timestamp(self.0.saturating_add(by))
    }

    /// How long until then, nothing if it is past.
    pub fn until(self, then: Timestamp) -> Duration {
        Duration::from_millis(then.0.saturating_sub(self.0).max(0) as u64)
    }
}

/// What the clocks show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// The monotonic clock, since some start: deadlines and waits (SEMANTICS J9).
    pub mono: Duration,
    /// The wall clock: records and quota resets.
    pub wall: Timestamp,
}

/// When something is due next: by either clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wake {
    /// By the monotonic clock.
    pub mono: Option<Duration>,
    /// By the wall clock.
    pub wall: Option<Timestamp>,
}

/// A wait.
pub type Sleep<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// Shows the time and waits.
pub trait Clock {
    /// What the clocks show now.
    fn now(&self) -> Now;
    /// Ends when something is due; never, if nothing will be.
    fn sleep(&self, until: Wake) -> Sleep<'_>;
}

/// The clocks of the machine.
pub struct SystemClock {
    start: Instant,
}

/// How long a wait for the wall clock is at most, so that a changed clock is noticed.
const WALL_POLL: Duration = Duration::from_secs(30);

impl SystemClock {
    /// Starts counting now.
    pub fn new() -> SystemClock {
        SystemClock {
            start: Instant::now(),
        }
    }
}

impl Default for SystemClock {
    fn default() -> SystemClock {
        SystemClock::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Now {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH);
        let wall = wall.map_or(0, |since| since.as_millis() as i64);
        Now {
            mono: self.start.elapsed(),
            wall: Timestamp(wall),
        }
    }

    fn sleep(&self, until: Wake) -> Sleep<'_> {
        let now = self.now();
        let mono = until.mono.map(|due| due.saturating_sub(now.mono));
        let wall = until.wall.map(|due| now.wall.until(due).min(WALL_POLL));
        let wait = match (mono, wall) {
            (Some(mono), Some(wall)) => mono.min(wall),
            (Some(wait), None) | (None, Some(wait)) => wait,
            (None, None) => return Box::pin(std::future::pending()),
        };
        // Waits are whole milliseconds, rounded up: waking early would only mean another turn.
        let wait = Duration::from_millis(wait.as_nanos().div_ceil(1_000_000) as u64);
        Box::pin(tokio::time::sleep(wait))
    }
}

type Callback = Box<dyn FnOnce()>;

/// A clock that stands still until somebody waits; then it jumps to what is due next.
#[derive(Clone)]
pub struct VirtualClock {
    inner: Rc<VirtualState>,
}

struct VirtualState {
    start: Timestamp,
    mono: Cell<Duration>,
    skew_ms: Cell<i64>,
    next: Cell<u64>,
    queue: RefCell<BTreeMap<(Duration, u64), Callback>>,
}

impl VirtualClock {
    /// A clock whose wall shows a moment at the start.
    pub fn new(start: Timestamp) -> VirtualClock {
        VirtualClock {
            inner: Rc::new(VirtualState {
                start,
                mono: Cell::default(),
                skew_ms: Cell::default(),
                next: Cell::default(),
                queue: RefCell::default(),
            }),
        }
    }

    /// Calls something when a while has passed.
    pub fn after(&self, wait: Duration, call: impl FnOnce() + 'static) {
        let state = &self.inner;
        let order = state.next.get();
        state.next.set(order + 1);
        let due = state.mono.get() + wait;
        state
            .queue
            .borrow_mut()
            .insert((due, order), Box::new(call));
    }

    /// Sets the wall clock forward or back; the monotonic one goes on.
    pub fn shift_wall(&self, by_ms: i64) {
        let state = &self.inner;
        state.skew_ms.set(state.skew_ms.get() + by_ms);
    }

    /// Calls what is due up to `limit`, the earliest only. Tells whether there was something.
    fn fire(&self, limit: Option<Duration>) -> bool {
        let state = &self.inner;
        let mut queue = state.queue.borrow_mut();
        let Some(entry) = queue.first_entry() else {
            return false;
        };
        let due = entry.key().0;
        if limit.is_some_and(|limit| due > limit) {
            return false;
        }
        let call = entry.remove();
        drop(queue);
        state.mono.set(due.max(state.mono.get()));
        call();
        true
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Now {
        let state = &self.inner;
        let mono = state.mono.get();
        let wall = state.start.after(mono).0 + state.skew_ms.get();
        Now {
            mono,
            wall: Timestamp(wall),
        }
    }

    fn sleep(&self, until: Wake) -> Sleep<'_> {
        Box::pin(std::future::poll_fn(move |ctx| {
            let now = self.now();
            let wall = until.wall.map(|due| now.mono + now.wall.until(due));
            let limit = match (until.mono, wall) {
                (Some(mono), Some(wall)) => Some(mono.min(wall)),
                (limit, None) | (None, limit) => limit,
            };
            if self.fire(limit) {
                // Whoever waits for what the call sent comes first.
                ctx.waker().wake_by_ref();
                return Poll::Pending;
            }
            // With nothing left to happen the wait ends at once: the driver reports that it is stuck.
            if let Some(limit) = limit {
                self.inner.mono.set(limit.max(now.mono));
            }
            Poll::Ready(())
        }))
    }
}
