//! The course of a run: windows of simulated time, handled by all parts at once, with an exchange in between.
//!
//! Nothing crosses from one part to another in less than the lookahead, so all parts can handle a window of that
//! length before they exchange what they sent each other. The windows lie on a fixed grid that depends on the
//! topology alone, and a run ends at the end of the window in which its last flow did: for every number of
//! threads the same instant, so that counters agree too.

use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use wiremend_measure::{Collector, FlowRow, JobPlan, Outcome, SeriesRow};
use wiremend_units::{Span, Time};

use super::barrier::Barrier;
use super::part::Part;
use crate::link::Outbox;
use crate::network::Network;
use crate::observe::Captured;
use crate::switch::deadlock;
use crate::switch::deadlock::{Deadlock, Report};

/// Sees a run as it goes: rows, captured frames and samples in order of time, whatever the number of threads.
pub trait Observer {
    /// A flow ended.
    fn on_row(&mut self, row: &FlowRow) -> io::Result<()> {
        let _ = row;
        Ok(())
    }

    /// A frame left on a captured link.
    fn on_frame(&mut self, captured: &Captured) -> io::Result<()> {
        let _ = captured;
        Ok(())
    }

    /// A sample of a time series.
    fn on_sample(&mut self, sample: &SeriesRow) -> io::Result<()> {
        let _ = sample;
        Ok(())
    }

    /// From time to time. `Break` ends the run.
    fn on_progress(&mut self, progress: &Progress) -> ControlFlow<()> {
        let _ = progress;
        ControlFlow::Continue(())
    }
}

/// Sees nothing.
impl Observer for () {}

/// How far a run has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Simulated time.
    pub now: Time,
    /// Flows that ended.
    pub flows: u64,
}

/// Why a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// Every flow ended.
    Complete,
    /// Its time was over.
    TimeLimit,
    /// Nothing was left to happen, and flows were open.
    Stalled,
    /// An observer wanted so.
    Interrupted,
    /// More frames and flows are under way than there is memory for.
    Memory,
    /// Ports of lossless switches waited for each other in a circle.
    Deadlock,
}

pub(crate) struct Limits {
    /// Flows that count only together.
    pub(crate) jobs: Vec<JobPlan>,
    pub(crate) stop_at: Time,
    pub(crate) lookahead: Span,
    pub(crate) sample_every: Option<Span>,
    /// How deadlocks are looked for.
    pub(crate) deadlock: Option<deadlock::Observer>,
    /// What is under way may take so much memory.
    pub(crate) memory: Memory,
}

/// Bytes that are to be had, and bytes that a frame and a flow under way take at worst.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    pub(crate) bytes_max: u64,
    pub(crate) frame_bytes: u64,
    pub(crate) flow_bytes: u64,
}

impl Memory {
    /// Whether so many frames and flows fit.
    pub(crate) fn holds(&self, frames: u64, flows: u64) -> bool {
        let [frames, flows] =
            [frames.saturating_mul(self.frame_bytes), flows.saturating_mul(self.flow_bytes)];
        frames.saturating_add(flows) <= self.bytes_max
    }
}

/// What the parts share.
struct Shared<'a> {
    limits: &'a Limits,
    barrier: Barrier,
    /// By receiving part, then by sending part.
    mail: Vec<Vec<Mutex<Outbox>>>,
    seen: Vec<Mutex<Seen>>,
    state: Vec<State>,
    halt: AtomicBool,
    /// What parts tell the observer of deadlocks.
    reports: Vec<Mutex<Report>>,
    is_deadlocked: AtomicBool,
}

/// What a part saw in a window.
#[derive(Default)]
struct Seen {
    rows: Vec<FlowRow>,
    captured: Vec<Captured>,
    samples: Vec<SeriesRow>,
}

/// What a part says of itself between windows.
#[derive(Default)]
struct State {
    next: AtomicU64,
    open: AtomicU64,
    in_flight: AtomicU64,
}

/// Progress is reported after so many windows or events, whichever come first: often enough to answer Ctrl-C.
const PROGRESS_WINDOWS: u64 = 512;
const PROGRESS_EVENTS: u64 = 200_000;

/// Runs all parts to the end. The calling thread simulates the first and does the observing.
pub(crate) fn run(parts: &mut [Part], limits: &Limits, observer: &mut dyn Observer) -> io::Result<Ran> {
    let count = parts.len();
    let shared = Shared {
        limits,
        barrier: Barrier::new(count),
        mail: (0..count).map(|_| (0..count).map(|_| Mutex::default()).collect()).collect(),
        seen: (0..count).map(|_| Mutex::default()).collect(),
        state: (0..count).map(|_| State::default()).collect(),
        halt: AtomicBool::new(false),
        reports: (0..count).map(|_| Mutex::default()).collect(),
        is_deadlocked: AtomicBool::new(false),
    };
    let net = Arc::clone(&parts[0].net);
    let mut leader = Leader {
        observer,
        net,
        collector: Collector::with_jobs(limits.jobs.clone()),
        deadlocks: Vec::new(),
        windows: 0,
        events: 0,
        error: None,
    };
    let (first, others) = parts.split_first_mut().expect("a run has a part");
    let (end, ending) = std::thread::scope(|scope| {
        for part in others {
            let shared = &shared;
            scope.spawn(move || work(part, shared, None));
        }
        work(first, &shared, Some(&mut leader))
    });
    let Leader { collector, deadlocks, error, .. } = leader;
    error.map_or(Ok(Ran { collector, deadlocks, end, ending }), Err)
}

/// What is known at the end of a run.
pub(crate) struct Ran {
    pub(crate) collector: Collector,
    pub(crate) deadlocks: Vec<Deadlock>,
    pub(crate) end: Time,
    pub(crate) ending: Ending,
}

/// One thread's share: window, exchange, decision; all threads decide alike.
fn work(part: &mut Part, shared: &Shared<'_>, mut leader: Option<&mut Leader<'_>>) -> (Time, Ending) {
    let _guard = shared.barrier.guard();
    let me = usize::from(part.number);
    part.start();
    let mut window_end = Time::ZERO;
    loop {
        part.run(window_end);
        if is_sample(shared.limits, window_end) {
            part.sample(window_end);
        }
        if let Some(watch) = shared.limits.deadlock.filter(|watch| watch.is_epoch(window_end)) {
            *lock(&shared.reports[me]) = part.report(window_end, watch.before(window_end));
        }
        post_mail(part, shared, me);
        shared.barrier.wait();
        collect_mail(part, shared, me);
        if let Some(leader) = leader.as_deref_mut() {
            leader.look(shared, window_end, part.events);
            leader.look_for_deadlocks(shared, window_end);
        }
        shared.barrier.wait();
        match decide(shared, window_end) {
            ControlFlow::Continue(end) => window_end = end,
            ControlFlow::Break((end, ending)) => {
                let outcome = match ending {
                    Ending::Stalled => Outcome::Stalled,
                    Ending::Deadlock => Outcome::Deadlock,
                    _ => Outcome::TimeLimit,
                };
                part.finish(end, outcome);
                post_mail(part, shared, me);
                shared.barrier.wait();
                if let Some(leader) = leader {
                    leader.look(shared, end, part.events);
                }
                return (end, ending);
            }
        }
    }
}

fn post_mail(part: &mut Part, shared: &Shared<'_>, me: usize) {
    for (to, outbox) in part.lanes.outbox.iter_mut().enumerate() {
        if !outbox.is_empty() {
            std::mem::swap(&mut *lock(&shared.mail[to][me]), outbox);
        }
    }
    let mut seen = lock(&shared.seen[me]);
    seen.rows.append(&mut part.tally.rows);
    seen.captured.append(&mut part.lanes.watch.captured);
    seen.samples.append(&mut part.samples);
}

fn collect_mail(part: &mut Part, shared: &Shared<'_>, me: usize) {
    for mail in &shared.mail[me] {
        let mut mail = lock(mail);
        part.take_over(&mut mail);
    }
    let state = &shared.state[me];
    let next = part.lanes.queue.next_time().unwrap_or(Time::MAX);
    state.next.store(next.as_ps(), Ordering::Relaxed);
    state.open.store(part.tally.open, Ordering::Relaxed);
    state.in_flight.store(part.lanes.under_way(), Ordering::Relaxed);
}

/// The end of the next window, or of the run.
fn decide(shared: &Shared<'_>, now: Time) -> ControlFlow<(Time, Ending), Time> {
    let limits = shared.limits;
    let sum = |field: fn(&State) -> &AtomicU64| {
        shared.state.iter().map(|s| field(s).load(Ordering::Relaxed)).sum::<u64>()
    };
    let next = shared.state.iter().map(|state| state.next.load(Ordering::Relaxed)).min().unwrap_or(u64::MAX);
    let next = Time::from_ps(next);
    if shared.halt.load(Ordering::Relaxed) {
        return ControlFlow::Break((now, Ending::Interrupted));
    }
    let open = sum(|state| &state.open);
    if open == 0 {
        return ControlFlow::Break((now, Ending::Complete));
    }
    if shared.is_deadlocked.load(Ordering::Relaxed) {
        return ControlFlow::Break((now, Ending::Deadlock));
    }
    if !limits.memory.holds(sum(|state| &state.in_flight), open) {
        return ControlFlow::Break((now, Ending::Memory));
    }
    if next >= limits.stop_at {
        return if next == Time::MAX {
            ControlFlow::Break((now, Ending::Stalled))
        } else {
            ControlFlow::Break((limits.stop_at, Ending::TimeLimit))
        };
    }
    let mut end = next_multiple(next, limits.lookahead).min(limits.stop_at);
    for every in [limits.sample_every, limits.deadlock.map(|watch| watch.every)].into_iter().flatten() {
        end = end.min(next_multiple(now, every));
    }
    ControlFlow::Continue(end)
}

/// The first multiple of `step` after `time`.
fn next_multiple(time: Time, step: Span) -> Time {
    let step = step.as_ps();
    Time::from_ps((time.as_ps() / step + 1).saturating_mul(step))
}

fn is_sample(limits: &Limits, at: Time) -> bool {
    limits.sample_every.is_some_and(|every| at > Time::ZERO && at.as_ps().is_multiple_of(every.as_ps()))
}

/// The thread that also observes.
struct Leader<'a> {
    observer: &'a mut dyn Observer,
    net: Arc<Network>,
    collector: Collector,
    deadlocks: Vec<Deadlock>,
    windows: u64,
    /// Events of the first part when progress was last reported.
    events: u64,
    error: Option<io::Error>,
}

impl Leader<'_> {
    fn look(&mut self, shared: &Shared<'_>, now: Time, events: u64) {
        let mut all = Seen::default();
        for seen in &shared.seen {
            let mut seen = lock(seen);
            all.rows.append(&mut seen.rows);
            all.captured.append(&mut seen.captured);
            all.samples.append(&mut seen.samples);
        }
        if let Err(error) = self.pass_on(all) {
            self.error.get_or_insert(error);
            shared.halt.store(true, Ordering::Relaxed);
        }
        self.windows += 1;
        if self.windows.is_multiple_of(PROGRESS_WINDOWS) || events - self.events > PROGRESS_EVENTS {
            self.events = events;
            let progress = Progress { now, flows: self.collector.flows() };
            if self.observer.on_progress(&progress).is_break() {
                shared.halt.store(true, Ordering::Relaxed);
            }
        }
    }

    fn look_for_deadlocks(&mut self, shared: &Shared<'_>, now: Time) {
        let Some(watch) = shared.limits.deadlock.filter(|watch| watch.is_epoch(now)) else { return };
        let mut all = Report::default();
        for report in &shared.reports {
            let Report { mut held, mut buffers } = std::mem::take(&mut *lock(report));
            all.held.append(&mut held);
            all.buffers.append(&mut buffers);
        }
        if deadlock::judge(&self.net.graph, now, &all, &mut self.deadlocks) && watch.ends_run {
            shared.is_deadlocked.store(true, Ordering::Relaxed);
        }
    }

    fn pass_on(&mut self, mut all: Seen) -> io::Result<()> {
        all.rows.sort_unstable_by_key(|row| (row.end_ps, row.flow));
        for row in &all.rows {
            self.collector.add(row);
            self.observer.on_row(row)?;
        }
        all.captured.sort_by_key(|captured| (captured.time, captured.lane));
        all.captured.iter().try_for_each(|captured| self.observer.on_frame(captured))?;
        all.samples.sort_unstable_by_key(|sample| (sample.time_ps, sample.entity, sample.metric));
        all.samples.iter().try_for_each(|sample| self.observer.on_sample(sample))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
