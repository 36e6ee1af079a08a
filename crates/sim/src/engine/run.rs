//! The main loop: all partitions simulate a window of time in parallel, then exchange frames.
//!
//! No frame or notice crosses from one partition to another in less than the lookahead, so each partition can
//! simulate a window of that length before the exchange. The windows lie on a fixed grid that depends only on
//! the topology. A run ends at the end of the window in which its last flow ended. That time is the same for
//! every number of threads, so that counters agree too.
//!
//! Threads meet twice per window. Where that takes longer than it saves, the first thread simulates all partitions,
//! one after the other, and the other threads sleep: see [`ThreadChoice`].

use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use wiremend_measure::{Collector, FlowOutcome, FlowRow, FlowSample, SeriesRow, SkippedTime};
use wiremend_units::Time;

use super::barrier::Barrier;
use super::fast_forward::{Clock, FastForward, Partitions};
use super::limits::Limits;
use super::partition::Partition;
use super::thread_choice::ThreadChoice;
use crate::link::Outbox;
use crate::network::{FailedFrame, FailedFrames, Network};
use crate::observe::{CapturedFrame, FoundCause};
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

    /// A timer of a connection fired, in a run that captures a link. Its cause is known a little later than
    /// the timeout, at most [`Simulation::cause_delay`](crate::Simulation::cause_delay), and is passed before
    /// frames that are sent still later.
    fn on_cause(&mut self, found: &FoundCause) -> io::Result<()> {
        let _ = found;
        Ok(())
    }

    /// A sample of a time series was taken.
    fn on_sample(&mut self, sample: &SeriesRow) -> io::Result<()> {
        let _ = sample;
        Ok(())
    }

    /// A sample of a flow was taken.
    fn on_flow_sample(&mut self, sample: &FlowSample) -> io::Result<()> {
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

/// State that the partitions share.
struct Shared<'a> {
    limits: &'a Limits,
    /// Each is locked by the thread that simulates it; nobody waits for a lock.
    partitions: Vec<Mutex<&'a mut Partition>>,
    barrier: Barrier,
    /// Whether the first thread simulates alone.
    is_alone: AtomicBool,
    /// End of the last window that the first thread has handled alone.
    alone_until: AtomicU64,
    /// Whether it has also simulated that window.
    is_simulated: AtomicBool,
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
    causes: Vec<FoundCause>,
    samples: Vec<SeriesRow>,
    flow_samples: Vec<FlowSample>,
    failed_frames: Vec<FailedFrame>,
}

/// State that a partition publishes between windows.
#[derive(Default)]
struct PartitionState {
    /// Events in the last window.
    events: AtomicU64,
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
    let net = Arc::clone(&partitions[0].net);
    let choice = limits.thread_choice_events.filter(|_| count > 1).map(ThreadChoice::new);
    let fast_forward = FastForward::new(partitions, limits);
    let shared = Shared {
        limits,
        partitions: partitions.iter_mut().map(Mutex::new).collect(),
        barrier: Barrier::new(count),
        is_alone: AtomicBool::new(choice.is_some() || count == 1 || fast_forward.is_due()),
        alone_until: AtomicU64::new(0),
        is_simulated: AtomicBool::new(false),
        mailboxes: (0..count).map(|_| (0..count).map(|_| Mutex::default()).collect()).collect(),
        outputs: (0..count).map(|_| Mutex::default()).collect(),
        state: (0..count).map(|_| PartitionState::default()).collect(),
        halt: AtomicBool::new(false),
        reports: (0..count).map(|_| Mutex::default()).collect(),
        is_deadlocked: AtomicBool::new(false),
    };
    let mut leader = Leader {
        fast_forward,
        synced: Time::ZERO,
        observer,
        net,
        collector: Collector::with_jobs(limits.jobs.clone()),
        failed_frames: FailedFrames::default(),
        deadlocks: Vec::new(),
        windows: 0,
        events: 0,
        reported_events: 0,
        choice,
        error: None,
    };
    let (end, end_reason) = std::thread::scope(|scope| {
        for other in 1..count {
            let shared = &shared;
            scope.spawn(move || simulate(other, shared, None));
        }
        simulate(0, &shared, Some(&mut leader))
    });
    let Leader { collector, failed_frames, deadlocks, error, fast_forward, .. } = leader;
    let (skipped, obstacle) = fast_forward.outcome();
    error.map_or(
        Ok(RunOutcome {
            collector,
            failed_connections: failed_frames.connections(),
            deadlocks,
            end,
            end_reason,
            skipped,
            obstacle,
        }),
        Err,
    )
}

/// Outcome of the main loop.
pub(crate) struct RunOutcome {
    pub(crate) collector: Collector,
    /// Connections that lost frames on links that had failed.
    pub(crate) failed_connections: u64,
    pub(crate) deadlocks: Vec<Deadlock>,
    pub(crate) end: Time,
    pub(crate) end_reason: EndReason,
    pub(crate) skipped: SkippedTime,
    pub(crate) obstacle: Option<&'static str>,
}

/// Simulates one partition: window, exchange, decision. All threads take the same decision.
fn simulate(me: usize, shared: &Shared<'_>, mut leader: Option<&mut Leader<'_>>) -> (Time, EndReason) {
    let _guard = shared.barrier.guard();
    shared.partition(me).start();
    let mut window_end = Time::ZERO;
    loop {
        let mut is_simulated = false;
        if shared.is_alone.load(Ordering::Relaxed) {
            // All threads have read the state of the last window before the first one changes it.
            shared.barrier.wait();
            if let Some(leader) = leader.as_deref_mut() {
                simulate_alone(shared, leader, window_end);
            }
            shared.barrier.wait();
            window_end = Time::from_ps(shared.alone_until.load(Ordering::Relaxed));
            is_simulated = shared.is_simulated.load(Ordering::Relaxed);
        }
        if !is_simulated {
            simulate_window(&mut shared.partition(me), shared, window_end);
            shared.barrier.wait();
            collect_outboxes(&mut shared.partition(me), shared);
            if let Some(leader) = leader.as_deref_mut() {
                leader.on_window(shared, window_end);
            }
            shared.barrier.wait();
        }
        match decide(shared, window_end) {
            ControlFlow::Continue(end) => window_end = end,
            ControlFlow::Break((end, end_reason)) => {
                let outcome = match end_reason {
                    EndReason::Stalled => FlowOutcome::Stalled,
                    EndReason::Deadlock => FlowOutcome::Deadlock,
                    _ => FlowOutcome::TimeLimit,
                };
                let mut partition = shared.partition(me);
                partition.finish(end, outcome);
                post_outboxes(&mut partition, shared);
                shared.barrier.wait();
                if let Some(leader) = leader {
                    leader.collect_output(shared, end);
                }
                return (end, end_reason);
            }
        }
    }
}

/// Skips time if that is due, and simulates all partitions, from the window that ends at `window_end` until all threads
/// shall simulate or the run ends.
fn simulate_alone(shared: &Shared<'_>, leader: &mut Leader<'_>, mut window_end: Time) {
    let is_simulated = loop {
        if leader.fast_forward.is_due() {
            window_end = skip_time(shared, leader, window_end);
            if !leader.is_alone(shared) {
                break false;
            }
        }
        for number in 0..shared.partitions.len() {
            simulate_window(&mut shared.partition(number), shared, window_end);
        }
        for number in 0..shared.partitions.len() {
            collect_outboxes(&mut shared.partition(number), shared);
        }
        leader.on_window(shared, window_end);
        match decide(shared, window_end) {
            ControlFlow::Continue(end) if shared.is_alone.load(Ordering::Relaxed) => window_end = end,
            _ => break true,
        }
    };
    shared.alone_until.store(window_end.as_ps(), Ordering::Relaxed);
    shared.is_simulated.store(is_simulated, Ordering::Relaxed);
}

/// Simulates some windows and skips time if the network repeats a pattern. Returns the end of the next window.
fn skip_time(shared: &Shared<'_>, leader: &mut Leader<'_>, window_end: Time) -> Time {
    let all = (0..shared.partitions.len()).map(|number| shared.partition(number)).collect();
    let mut clock = Clock { now: leader.synced, window_end };
    leader.fast_forward.attempt(&mut LockedPartitions { shared, all }, &mut clock);
    clock.window_end
}

/// The partitions while one thread has all of them.
struct LockedPartitions<'a, 'b> {
    shared: &'a Shared<'b>,
    all: Vec<MutexGuard<'a, &'b mut Partition>>,
}

impl Partitions for LockedPartitions<'_, '_> {
    fn all(&mut self) -> impl Iterator<Item = &mut Partition> {
        self.all.iter_mut().map(|partition| &mut ***partition)
    }

    fn exchange(&mut self) {
        self.all.iter_mut().for_each(|partition| post_outboxes(partition, self.shared));
        self.all.iter_mut().for_each(|partition| collect_outboxes(partition, self.shared));
    }
}

/// Simulates one window of a partition, and posts what leaves it.
fn simulate_window(partition: &mut Partition, shared: &Shared<'_>, window_end: Time) {
    let before = partition.events;
    partition.run(window_end);
    if shared.limits.is_sample(window_end) {
        partition.sample(window_end);
    }
    let me = usize::from(partition.number);
    if let Some(check) = shared.limits.deadlock.filter(|check| check.is_epoch(window_end)) {
        *lock(&shared.reports[me]) = partition.report(window_end, check.before(window_end));
    }
    shared.state[me].events.store(partition.events - before, Ordering::Relaxed);
    post_outboxes(partition, shared);
}

impl<'a> Shared<'a> {
    fn partition(&self, number: usize) -> MutexGuard<'_, &'a mut Partition> {
        lock(&self.partitions[number])
    }
}

fn post_outboxes(partition: &mut Partition, shared: &Shared<'_>) {
    let me = usize::from(partition.number);
    for (to, outbox) in partition.lanes.outbox.iter_mut().enumerate() {
        if !outbox.is_empty() {
            std::mem::swap(&mut *lock(&shared.mailboxes[to][me]), outbox);
        }
    }
    let mut outputs = lock(&shared.outputs[me]);
    outputs.rows.append(&mut partition.tally.rows);
    outputs.captured.append(&mut partition.lanes.recorder.captured);
    outputs.causes.append(&mut partition.lanes.recorder.causes);
    outputs.samples.append(&mut partition.samples);
    outputs.failed_frames.append(&mut partition.lanes.failed_frames);
    if let Some(watch) = &mut partition.tally.watch {
        outputs.flow_samples.append(&mut watch.samples);
    }
}

fn collect_outboxes(partition: &mut Partition, shared: &Shared<'_>) {
    let me = usize::from(partition.number);
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
    ControlFlow::Continue(limits.next_window_end(now, next))
}

/// State of the thread that also calls the observer.
struct Leader<'a> {
    observer: &'a mut dyn Observer,
    net: Arc<Network>,
    collector: Collector,
    failed_frames: FailedFrames,
    deadlocks: Vec<Deadlock>,
    windows: u64,
    events: u64,
    /// Events at the last progress report.
    reported_events: u64,
    /// `None`: all threads simulate.
    choice: Option<ThreadChoice>,
    fast_forward: FastForward<'a>,
    /// All events before this time have been handled.
    synced: Time,
    error: Option<io::Error>,
}

impl Leader<'_> {
    /// Returns whether the first thread simulates the next window alone.
    fn is_alone(&self, shared: &Shared<'_>) -> bool {
        self.choice.as_ref().map_or(shared.partitions.len() == 1, ThreadChoice::is_alone)
    }

    /// Handles the end of a window of all partitions.
    fn on_window(&mut self, shared: &Shared<'_>, window_end: Time) {
        let events: u64 = shared.state.iter().map(|state| state.events.load(Ordering::Relaxed)).sum();
        self.events += events;
        self.synced = window_end;
        self.fast_forward.on_window(events);
        if let Some(choice) = &mut self.choice {
            choice.on_window(events);
        }
        shared.is_alone.store(self.is_alone(shared) || self.fast_forward.is_due(), Ordering::Relaxed);
        self.collect_output(shared, window_end);
        self.check_deadlocks(shared, window_end);
    }

    fn collect_output(&mut self, shared: &Shared<'_>, now: Time) {
        let mut all = WindowOutput::default();
        for outputs in &shared.outputs {
            let mut outputs = lock(outputs);
            all.rows.append(&mut outputs.rows);
            all.captured.append(&mut outputs.captured);
            all.causes.append(&mut outputs.causes);
            all.samples.append(&mut outputs.samples);
            all.flow_samples.append(&mut outputs.flow_samples);
            all.failed_frames.append(&mut outputs.failed_frames);
        }
        if let Err(error) = self.pass_to_observer(all) {
            self.error.get_or_insert(error);
            shared.halt.store(true, Ordering::Relaxed);
        }
        self.windows += 1;
        if self.windows.is_multiple_of(PROGRESS_WINDOWS)
            || self.events - self.reported_events > PROGRESS_EVENTS
        {
            self.reported_events = self.events;
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
        self.failed_frames.add(std::mem::take(&mut all.failed_frames));
        for row in &mut all.rows {
            row.failed_frames = self.net.failures.as_ref().and_then(|_| self.failed_frames.of_flow(row));
            self.collector.add(row);
            self.observer.on_row(row)?;
        }
        // A capture holds its frames until their causes are known: causes first.
        all.causes.sort_by_key(|found| (found.time, found.requester, found.qp));
        all.causes.iter().try_for_each(|found| self.observer.on_cause(found))?;
        all.captured.sort_by_key(|captured| (captured.time, captured.lane));
        all.captured.iter().try_for_each(|captured| self.observer.on_frame(captured))?;
        all.samples.sort_unstable_by_key(|sample| (sample.time_ps, sample.entity, sample.metric));
        all.samples.iter().try_for_each(|sample| self.observer.on_sample(sample))?;
        all.flow_samples.sort_unstable_by_key(|sample| (sample.time_ps, sample.flow));
        all.flow_samples.iter().try_for_each(|sample| self.observer.on_flow_sample(sample))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
