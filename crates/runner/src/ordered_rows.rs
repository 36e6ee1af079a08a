//! Rows of parallel runs in the order of the runs.
//!
//! The run that is next in order writes directly. Rows of later runs are buffered up to a limit; then these
//! runs wait. So memory is bounded, and a file has the same bytes whichever run ends first.

use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Destination of rows.
pub(crate) trait IndexedSink {
    type Row;

    /// Writes a row of a run.
    fn take(&mut self, run: usize, row: &Self::Row) -> io::Result<()>;
}

/// Most buffered rows of all runs together.
const HELD_MAX: usize = 400_000;
/// Rows that a run collects before it passes them on.
const CHUNK: usize = 1024;

/// A sink that receives rows in the order of the runs.
pub(crate) struct OrderedRows<S: IndexedSink> {
    state: Mutex<State<S>>,
    moved: Condvar,
}

struct State<S: IndexedSink> {
    sink: S,
    /// The run that is next in order.
    turn: usize,
    /// By run: its buffered rows, and whether it has ended.
    waiting: Vec<Waiting<S::Row>>,
    held: usize,
    abandoned: bool,
}

struct Waiting<R> {
    rows: Vec<R>,
    ended: bool,
}

impl<S: IndexedSink> OrderedRows<S> {
    pub(crate) fn new(sink: S, runs: usize) -> Self {
        let waiting = (0..runs).map(|_| Waiting { rows: Vec::new(), ended: false }).collect();
        let state = State { sink, turn: 0, waiting, held: 0, abandoned: false };
        Self { state: Mutex::new(state), moved: Condvar::new() }
    }

    /// The input for the rows of one run.
    pub(crate) fn feed(&self, run: usize) -> RowFeed<'_, S> {
        RowFeed { ordered: self, run, rows: Vec::with_capacity(CHUNK) }
    }

    /// Stops all writers: a waiting run gets an error.
    pub(crate) fn abandon(&self) {
        self.lock().abandoned = true;
        self.moved.notify_all();
    }

    /// Returns the sink after all runs have ended.
    pub(crate) fn into_inner(self) -> S {
        self.state.into_inner().unwrap_or_else(PoisonError::into_inner).sink
    }

    /// Accesses the sink.
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

/// Collects the rows of one run.
pub(crate) struct RowFeed<'a, S: IndexedSink> {
    ordered: &'a OrderedRows<S>,
    run: usize,
    rows: Vec<S::Row>,
}

impl<S: IndexedSink> RowFeed<'_, S> {
    pub(crate) fn push(&mut self, row: S::Row) -> io::Result<()> {
        self.rows.push(row);
        if self.rows.len() >= CHUNK { self.ordered.put(self.run, &mut self.rows) } else { Ok(()) }
    }

    /// Ends the run, so that the next run may write.
    pub(crate) fn end(mut self) -> io::Result<()> {
        self.ordered.put(self.run, &mut self.rows)?;
        self.ordered.end(self.run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct List(Vec<(usize, u32)>);

    impl IndexedSink for List {
        type Row = u32;

        fn take(&mut self, run: usize, row: &u32) -> io::Result<()> {
            self.0.push((run, *row));
            Ok(())
        }
    }

    #[test]
    fn rows_keep_the_order_of_runs_whichever_ends_first() {
        let ordered = OrderedRows::new(List(Vec::new()), 3);
        for run in [2, 0, 1] {
            let mut feed = ordered.feed(run);
            (0..3000).try_for_each(|row| feed.push(row)).unwrap();
            feed.end().unwrap();
        }
        let expected: Vec<_> = (0..3).flat_map(|run| (0..3000).map(move |row| (run, row))).collect();
        assert_eq!(ordered.into_inner().0, expected);
    }

    /// A run that is far ahead waits instead of using more memory.
    #[test]
    fn buffered_rows_are_bounded() {
        let ordered = OrderedRows::new(List(Vec::new()), 2);
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
    fn waiting_runs_get_an_error_when_the_batch_is_abandoned() {
        let ordered = OrderedRows::new(List(Vec::new()), 2);
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
