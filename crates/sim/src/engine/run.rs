//! The main loop: all partitions simulate a window of time in parallel, then exchange frames.
//!
//! No frame or notice crosses from one partition to another in less than the lookahead, so each partition can
//! simulate a window of that length before the exchange. The windows lie on a fixed grid that depends only on
//! the topology. A run ends at the end of the window in which its last flow ended. That time is the same for
//! every number of threads, so that counters agree too.

use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use wiremend_measure::{Collector, FlowOutcome, FlowRow, JobPlan, SeriesRow};
use wiremend_units::{Span, Time};

use super::barrier::Barrier;
use super::partition::Partition;
use crate::link::Outbox;
use crate::network::Network;
use crate::observe::CapturedFrame;
use crate::switch::deadlock;
use crate::switch::deadlock::{Deadlock, PauseReport};

/// Receives rows, captured frames and samples of a run, in order of time, for any number of threads.
pub trait Observer {
    /// A flow ended.
    fn on_row(&mut self, row: &FlowRow) -> io::Result<()> {
        let _ = row;
        Ok(())
    }

    /// A frame was sent on a captured link.
    fn on_frame(&mut self, captured: &CapturedFrame) -> io::Result<()> {
        let _ = captured;
        Ok(())
    }

    /// A sample of a time series was taken.
    fn on_sample(&mut self, sample: &SeriesRow) -> io::Result<()> {
        let _ = sample;
        Ok(())
    }

    /// Called periodically. `Break` ends the run.
    fn on_progress(&mut self, progress: &Progress) -> ControlFlow<()> {
        let _ = progress;
        ControlFlow::Continue(())
    }
}

/// Ignores everything.
impl Observer for () {}

/// Progress of a run.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Simulated time.
    pub now: Time,
    /// Flows that ended.
    pub flows: u64,
}

/// Why a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EndReason {
    /// Every flow ended.
    Complete,
    /// The time limit was reached.
    TimeLimit,
    /// No event was pending, but flows were open.
    Stalled,
    /// The observer ended the run.
    Interrupted,
    /// Frames and flows in flight exceeded the memory limit.
    MemoryLimit,
    /// Ports of lossless switches waited for each other in a cycle.
    Deadlock,
}

pub(crate) struct Limits {
    /// Groups of flows that form jobs.
    pub(crate) jobs: Vec<JobPlan>,
    pub(crate) stop_at: Time,
    pub(crate) lookahead: Span,
    pub(crate) sample_every: Option<Span>,
    /// When to check for deadlocks; `None`: never.
    pub(crate) deadlock: Option<deadlock::DeadlockCheck>,
    /// Memory limit for frames and flows in flight.
    pub(crate) memory: MemoryLimit,
}

/// Available bytes, and worst-case bytes of a frame and of a flow in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemoryLimit {
    pub(crate) bytes_max: u64,
    pub(crate) frame_bytes: u64,
    pub(crate) flow_bytes: u64,
}

impl MemoryLimit {
    pub(crate) fn fits(&self, frames: u64, flows: u64) -> bool {
        let [frames, flows] =
            [frames.saturating_mul(self.frame_bytes), flows.saturating_mul(self.flow_bytes)];
        frames.saturating_add(flows) <= self.bytes_max
    }
}

/// State that the partitions share.
struct Shared<'a> {
    limits: &'a Limits,
    barrier: Barrier,
    /// Outboxes by receiving partition, then by sending partition.
    mailboxes: Vec<Vec<Mutex<Outbox>>>,
    outputs: Vec<Mutex<WindowOutput>>,
    state: Vec<PartitionState>,
    halt: AtomicBool,
    /// Reports of the partitions for the deadlock detector.
    reports: Vec<Mutex<PauseReport>>,
    is_deadlocked: AtomicBool,
}

#[derive(Default)]
struct WindowOutput {
    rows: Vec<FlowRow>,
    captured: Vec<CapturedFrame>,
    samples: Vec<SeriesRow>,
}

/// State that a partition publishes between windows.
#[derive(Default)]
struct PartitionState {
    next: AtomicU64,
    open: AtomicU64,
    in_flight: AtomicU64,
}

/// Progress is reported after this number of windows or events, whichever is first: often enough to react to
/// Ctrl-C.
const PROGRESS_WINDOWS: u64 = 512;
const PROGRESS_EVENTS: u64 = 200_000;

/// Runs all partitions to the end. The calling thread simulates the first one and calls the observer.
pub(crate) fn run(
    partitions: &mut [Partition],
    limits: &Limits,
    observer: &mut dyn Observer,
) -> io::Result<RunOutcome> {
    let count = partitions.len();
    let shared = Shared {
        limits,
        barrier: Barrier::new(count),
        mailboxes: (0..count).map(|_| (0..count).map(|_| Mutex::default()).collect()).collect(),
        outputs: (0..count).map(|_| Mutex::default()).collect(),
        state: (0..count).map(|_| PartitionState::default()).collect(),
        halt: AtomicBool::new(false),
        reports: (0..count).map(|_| Mutex::default()).collect(),
        is_deadlocked: AtomicBool::new(false),
    };
    let net = Arc::clone(&partitions[0].net);
    let mut leader = Leader {
        observer,
        net,
        collector: Collector::with_jobs(limits.jobs.clone()),
        deadlocks: Vec::new(),
        windows: 0,
        events: 0,
        error: None,
    };
    let (first, others) = partitions.split_first_mut().expect("a run has a partition");
    let (end, end_reason) = std::thread::scope(|scope| {
        for partition in others {
            let shared = &shared;
            scope.spawn(move || simulate(partition, shared, None));
        }
        simulate(first, &shared, Some(&mut leader))
    });
    let Leader { collector, deadlocks, error, .. } = leader;
    error.map_or(Ok(RunOutcome { collector, deadlocks, end, end_reason }), Err)
}

/// Outcome of the main loop.
pub(crate) struct RunOutcome {
    pub(crate) collector: Collector,
    pub(crate) deadlocks: Vec<Deadlock>,
    pub(crate) end: Time,
    pub(crate) end_reason: EndReason,
}

/// Simulates one partition: window, exchange, decision. All threads take the same decision.
fn simulate(
    partition: &mut Partition,
    shared: &Shared<'_>,
    mut leader: Option<&mut Leader<'_>>,
) -> (Time, EndReason) {
    let _guard = shared.barrier.guard();
    let me = usize::from(partition.number);
    partition.start();
    let mut window_end = Time::ZERO;
    loop {
        partition.run(window_end);
        if is_sample(shared.limits, window_end) {
            partition.sample(window_end);
        }
        if let Some(check) = shared.limits.deadlock.filter(|check| check.is_epoch(window_end)) {
            *lock(&shared.reports[me]) = partition.report(window_end, check.before(window_end));
        }
        post_outboxes(partition, shared, me);
        shared.barrier.wait();
        collect_outboxes(partition, shared, me);
        if let Some(leader) = leader.as_deref_mut() {
            leader.collect_output(shared, window_end, partition.events);
            leader.check_deadlocks(shared, window_end);
        }
        shared.barrier.wait();
        match decide(shared, window_end) {
            ControlFlow::Continue(end) => window_end = end,
            ControlFlow::Break((end, end_reason)) => {
                let outcome = match end_reason {
                    EndReason::Stalled => FlowOutcome::Stalled,
                    EndReason::Deadlock => FlowOutcome::Deadlock,
                    _ => FlowOutcome::TimeLimit,
                };
                partition.finish(end, outcome);
                post_outboxes(partition, shared, me);
                shared.barrier.wait();
                if let Some(leader) = leader {
                    leader.collect_output(shared, end, partition.events);
                }
                return (end, end_reason);
            }
        }
    }
}

fn post_outboxes(partition: &mut Partition, shared: &Shared<'_>, me: usize) {
    for (to, outbox) in partition.lanes.outbox.iter_mut().enumerate() {
        if !outbox.is_empty() {
            std::mem::swap(&mut *lock(&shared.mailboxes[to][me]), outbox);
        }
    }
    let mut outputs = lock(&shared.outputs[me]);
    outputs.rows.append(&mut partition.tally.rows);
    outputs.captured.append(&mut partition.lanes.recorder.captured);
    outputs.samples.append(&mut partition.samples);
}

fn collect_outboxes(partition: &mut Partition, shared: &Shared<'_>, me: usize) {
    for mailboxes in &shared.mailboxes[me] {
        let mut mailboxes = lock(mailboxes);
        partition.take_over(&mut mailboxes);
    }
    let state = &shared.state[me];
    let next = partition.lanes.queue.next_time().unwrap_or(Time::MAX);
    state.next.store(next.as_ps(), Ordering::Relaxed);
    state.open.store(partition.tally.open, Ordering::Relaxed);
    state.in_flight.store(partition.lanes.in_flight(), Ordering::Relaxed);
}

/// Returns the end of the next window, or the end of the run.
fn decide(shared: &Shared<'_>, now: Time) -> ControlFlow<(Time, EndReason), Time> {
    let limits = shared.limits;
    let sum = |field: fn(&PartitionState) -> &AtomicU64| {
        shared.state.iter().map(|s| field(s).load(Ordering::Relaxed)).sum::<u64>()
    };
    let next = shared.state.iter().map(|state| state.next.load(Ordering::Relaxed)).min().unwrap_or(u64::MAX);
    let next = Time::from_ps(next);
    if shared.halt.load(Ordering::Relaxed) {
        return ControlFlow::Break((now, EndReason::Interrupted));
    }
    let open = sum(|state| &state.open);
    if open == 0 {
        return ControlFlow::Break((now, EndReason::Complete));
    }
    if shared.is_deadlocked.load(Ordering::Relaxed) {
        return ControlFlow::Break((now, EndReason::Deadlock));
    }
    if !limits.memory.fits(sum(|state| &state.in_flight), open) {
        return ControlFlow::Break((now, EndReason::MemoryLimit));
    }
    if next >= limits.stop_at {
        return if next == Time::MAX {
            ControlFlow::Break((now, EndReason::Stalled))
        } else {
            ControlFlow::Break((limits.stop_at, EndReason::TimeLimit))
        };
    }
    let mut end = next_multiple(next, limits.lookahead).min(limits.stop_at);
    for every in [limits.sample_every, limits.deadlock.map(|check| check.every)].into_iter().flatten() {
        end = end.min(next_multiple(now, every));
    }
    ControlFlow::Continue(end)
}

/// Returns the first multiple of `step` after `time`.
fn next_multiple(time: Time, step: Span) -> Time {
    let step = step.as_ps();
    Time::from_ps((time.as_ps() / step + 1).saturating_mul(step))
}

fn is_sample(limits: &Limits, at: Time) -> bool {
    limits.sample_every.is_some_and(|every| at > Time::ZERO && at.as_ps().is_multiple_of(every.as_ps()))
}

/// State of the thread that also calls the observer.
struct Leader<'a> {
    observer: &'a mut dyn Observer,
    net: Arc<Network>,
    collector: Collector,
    deadlocks: Vec<Deadlock>,
    windows: u64,
    /// Events of the first partition at the last progress report.
    events: u64,
    error: Option<io::Error>,
}

impl Leader<'_> {
    fn collect_output(&mut self, shared: &Shared<'_>, now: Time, events: u64) {
        let mut all = WindowOutput::default();
        for outputs in &shared.outputs {
            let mut outputs = lock(outputs);
            all.rows.append(&mut outputs.rows);
            all.captured.append(&mut outputs.captured);
            all.samples.append(&mut outputs.samples);
        }
        if let Err(error) = self.pass_to_observer(all) {
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

    fn check_deadlocks(&mut self, shared: &Shared<'_>, now: Time) {
        let Some(check) = shared.limits.deadlock.filter(|check| check.is_epoch(now)) else { return };
        let mut all = PauseReport::default();
        for report in &shared.reports {
            let PauseReport { mut paused, mut buffers } = std::mem::take(&mut *lock(report));
            all.paused.append(&mut paused);
            all.buffers.append(&mut buffers);
        }
        if deadlock::update_deadlocks(&self.net.graph, now, &all, &mut self.deadlocks) && check.ends_run {
            shared.is_deadlocked.store(true, Ordering::Relaxed);
        }
    }

    fn pass_to_observer(&mut self, mut all: WindowOutput) -> io::Result<()> {
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
