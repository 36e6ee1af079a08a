//! Rows of several runs, in the order of the runs, although the runs go on side by side.
//!
//! The run whose turn it is writes through. The rows of those ahead of it are held, up to a bound; beyond it, a run
//! waits for its turn. So memory stays bounded, and a file has the same bytes whatever finishes first.

use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Where rows end up.
pub(crate) trait Sink {
    type Row;

    /// Takes a row of a run.
    fn take(&mut self, run: usize, row: &Self::Row) -> io::Result<()>;
}

/// Rows that may be held for runs whose turn has not come, all together.
const HELD_MAX: usize = 400_000;
/// Rows that a run gathers before it hands them over.
const CHUNK: usize = 1024;

/// A sink that is filled in the order of the runs.
pub(crate) struct Ordered<S: Sink> {
    state: Mutex<State<S>>,
    moved: Condvar,
}

struct State<S: Sink> {
    sink: S,
    /// The run whose turn it is.
    turn: usize,
    /// By run: what waits for its turn, and whether there will be more.
    waiting: Vec<Waiting<S::Row>>,
    held: usize,
    abandoned: bool,
}

struct Waiting<R> {
    rows: Vec<R>,
    ended: bool,
}

impl<S: Sink> Ordered<S> {
    pub(crate) fn new(sink: S, runs: usize) -> Self {
        let waiting = (0..runs).map(|_| Waiting { rows: Vec::new(), ended: false }).collect();
        let state = State { sink, turn: 0, waiting, held: 0, abandoned: false };
        Self { state: Mutex::new(state), moved: Condvar::new() }
    }

    /// The end of a run that rows are put in at.
    pub(crate) fn feed(&self, run: usize) -> Feed<'_, S> {
        Feed { ordered: self, run, rows: Vec::with_capacity(CHUNK) }
    }

    /// Nothing more is wanted: whoever waits is sent away.
    pub(crate) fn abandon(&self) {
        self.lock().abandoned = true;
        self.moved.notify_all();
    }

    /// The sink, once all runs have ended.
    pub(crate) fn into_inner(self) -> S {
        self.state.into_inner().unwrap_or_else(PoisonError::into_inner).sink
    }

    /// Access to the sink itself, for what is not a row.
    pub(crate) fn with<T>(&self, change: impl FnOnce(&mut S) -> T) -> T {
        change(&mut self.lock().sink)
    }

    fn lock(&self) -> MutexGuard<'_, State<S>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, run: usize, rows: &mut Vec<S::Row>) -> io::Result<()> {
        let mut state = self.lock();
        loop {
            if state.abandoned {
                return Err(io::ErrorKind::Interrupted.into());
            }
            if state.turn == run {
                return rows.drain(..).try_for_each(|row| state.sink.take(run, &row));
            }
            if state.held + rows.len() <= HELD_MAX {
                state.held += rows.len();
                state.waiting[run].rows.append(rows);
                return Ok(());
            }
            state = self.moved.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn end(&self, run: usize) -> io::Result<()> {
        let mut guard = self.lock();
        let state = &mut *guard;
        state.waiting[run].ended = true;
        while state.waiting.get(state.turn).is_some_and(|waiting| waiting.ended) {
            state.turn += 1;
            let Some(next) = state.waiting.get_mut(state.turn) else { break };
            let rows = std::mem::take(&mut next.rows);
            state.held -= rows.len();
            rows.iter().try_for_each(|row| state.sink.take(state.turn, row))?;
        }
        self.moved.notify_all();
        Ok(())
    }
}

/// Takes the rows of one run.
pub(crate) struct Feed<'a, S: Sink> {
    ordered: &'a Ordered<S>,
    run: usize,
    rows: Vec<S::Row>,
}

impl<S: Sink> Feed<'_, S> {
    pub(crate) fn push(&mut self, row: S::Row) -> io::Result<()> {
        self.rows.push(row);
        if self.rows.len() >= CHUNK { self.ordered.put(self.run, &mut self.rows) } else { Ok(()) }
    }

    /// The run has ended: it is the next one's turn, or will be.
    pub(crate) fn end(mut self) -> io::Result<()> {
        self.ordered.put(self.run, &mut self.rows)?;
        self.ordered.end(self.run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct List(Vec<(usize, u32)>);

    impl Sink for List {
        type Row = u32;

        fn take(&mut self, run: usize, row: &u32) -> io::Result<()> {
            self.0.push((run, *row));
            Ok(())
        }
    }

    #[test]
    fn rows_keep_the_order_of_runs_whichever_ends_first() {
        let ordered = Ordered::new(List(Vec::new()), 3);
        for run in [2, 0, 1] {
            let mut feed = ordered.feed(run);
            (0..3000).try_for_each(|row| feed.push(row)).unwrap();
            feed.end().unwrap();
        }
        let expected: Vec<_> = (0..3).flat_map(|run| (0..3000).map(move |row| (run, row))).collect();
        assert_eq!(ordered.into_inner().0, expected);
    }

    /// A run that is far ahead waits instead of filling memory.
    #[test]
    fn what_is_held_is_bounded() {
        let ordered = Ordered::new(List(Vec::new()), 2);
        let rows = HELD_MAX as u32 + 5000;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut feed = ordered.feed(1);
                (0..rows).try_for_each(|row| feed.push(row)).unwrap();
                feed.end().unwrap();
            });
            let mut first = ordered.feed(0);
            while ordered.lock().held + CHUNK <= HELD_MAX {
                std::thread::yield_now();
            }
            first.push(7).unwrap();
            first.end().unwrap();
        });
        let list = ordered.into_inner().0;
        assert_eq!(list.len(), rows as usize + 1);
        assert_eq!(list[..2], [(0, 7), (1, 0)]);
    }

    #[test]
    fn whoever_waits_is_sent_away_when_all_is_abandoned() {
        let ordered = Ordered::new(List(Vec::new()), 2);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                let mut feed = ordered.feed(1);
                (0..HELD_MAX as u32 * 2).try_for_each(|row| feed.push(row))
            });
            while ordered.lock().held + CHUNK <= HELD_MAX {
                std::thread::yield_now();
            }
            ordered.abandon();
            assert!(waiting.join().unwrap().is_err());
        });
    }
}
