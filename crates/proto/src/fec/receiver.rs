//! The receiver: finds missing frames and decides whether they can be restored.

use std::collections::VecDeque;

use wiremend_units::Time;

use super::{Config, Counters, DeliveryOrder, Disposal, FecHeader, IndexSet};

/// Largest gap in frames. Beyond it the sender counts as restarted.
const GAP_MAX: u16 = 4_096;

#[derive(Clone, Debug)]
pub(super) struct Receiver<F> {
    config: Config,
    block: Option<Block>,
    /// Frames of the block that wait for an earlier one, by index.
    held: Vec<Option<F>>,
    /// When they are delivered without it.
    deadline: Option<Time>,
}

#[derive(Clone, Copy, Debug)]
struct Block {
    number: u16,
    parities: u8,
    /// Number of frames, known from the first parity on.
    data_count: Option<u8>,
    /// Frames that arrived or were restored.
    received: IndexSet,
    received_count: u8,
    parity_count: u8,
    /// One more than the last index that arrived.
    end: u8,
    /// First frame not yet delivered.
    next: u8,
    state: BlockState,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum BlockState {
    /// Missing frames may still be restored.
    Pending,
    /// The host restores the missing frames.
    Recovering,
    /// Missing frames cannot be restored. Losses are counted once the number of frames is known.
    Unrecoverable {
        is_counted: bool,
    },
    Complete,
}

impl<F: Copy> Receiver<F> {
    pub(super) fn new(config: Config) -> Self {
        Self { config, block: None, held: Vec::new(), deadline: None }
    }

    pub(super) fn on_signal(
        &mut self,
        now: Time,
        signal: FecHeader,
        frame: Option<F>,
        out: &mut Outbox<'_, F>,
    ) {
        match (signal, frame) {
            (FecHeader::Data { block, index, parities }, Some(frame)) if fits_block(index, parities) => {
                self.on_data(BlockIndex { block, index, parities, data_count: None }, frame, out);
            }
            (FecHeader::Parity { block, index, data_count, parities }, None)
                if data_count > 0
                    && index >= data_count
                    && fits_block(data_count - 1, parities)
                    && u16::from(index) < u16::from(data_count) + u16::from(parities) =>
            {
                self.on_parity(BlockIndex { block, index, parities, data_count: Some(data_count) }, out);
            }
            (_, frame) => {
                out.counters.malformed += 1;
                out.disposals.extend(frame.map(Disposal::Discard));
            }
        }
        self.set_deadline(now, out.counters);
    }

    /// A frame without a header has arrived: the sender is dormant.
    pub(super) fn on_plain(&mut self, frame: F, out: &mut Outbox<'_, F>) {
        self.end_block(None, out);
        out.disposals.push_back(Disposal::Deliver(frame));
    }

    pub(super) fn on_recovered(
        &mut self,
        now: Time,
        block: u16,
        index: u8,
        frame: F,
        out: &mut Outbox<'_, F>,
    ) {
        let asked = self.block.as_mut().filter(|open| {
            open.number == block
                && open.state == BlockState::Recovering
                && open.data_count.is_some_and(|count| index < count)
                && !open.received.contains(index)
        });
        let Some(open) = asked else {
            out.counters.late += 1;
            out.disposals.push_back(Disposal::Discard(frame));
            return;
        };
        open.insert(index);
        out.counters.recovered += 1;
        self.deliver_or_hold(index, frame, out);
        self.update_state(out);
        self.set_deadline(now, out.counters);
    }

    pub(super) fn on_timeout(&mut self, now: Time, out: &mut Outbox<'_, F>) {
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            out.counters.given_up += 1;
            self.give_up_block(out);
            self.set_deadline(now, out.counters);
        }
    }

    pub(super) fn next_timeout(&self) -> Option<Time> {
        self.deadline
    }

    fn on_data(&mut self, position: BlockIndex, frame: F, out: &mut Outbox<'_, F>) {
        let open = self.open(position, out);
        // A frame behind a parity of its own block, or with another number of parities.
        if open.data_count.is_some() || open.parities != position.parities {
            out.counters.malformed += 1;
            out.disposals.push_back(Disposal::Discard(frame));
            return;
        }
        open.end = position.index + 1;
        open.insert(position.index);
        out.counters.arrived += 1;
        self.deliver_or_hold(position.index, frame, out);
        self.update_state(out);
    }

    fn on_parity(&mut self, position: BlockIndex, out: &mut Outbox<'_, F>) {
        let open = self.open(position, out);
        let fits = match open.data_count {
            Some(_) => open.data_count == position.data_count,
            None => position.data_count.is_some_and(|data_count| data_count >= open.end),
        };
        if !fits || open.parities != position.parities {
            out.counters.malformed += 1;
            return;
        }
        open.data_count = position.data_count;
        open.end = position.index + 1;
        open.parity_count += 1;
        self.update_state(out);
    }

    /// Returns the block of an index. The link keeps order: another number, or an index already passed,
    /// starts a later block.
    fn open(&mut self, position: BlockIndex, out: &mut Outbox<'_, F>) -> &mut Block {
        let is_same = self
            .block
            .as_ref()
            .is_some_and(|open| open.number == position.block && position.index >= open.end);
        if !is_same {
            self.end_block(Some(position.block), out);
        }
        self.block.get_or_insert_with(|| Block {
            number: position.block,
            parities: position.parities,
            data_count: None,
            received: IndexSet::default(),
            received_count: 0,
            parity_count: 0,
            end: 0,
            next: 0,
            state: BlockState::Pending,
        })
    }

    /// Delivers a frame, or holds it while an earlier one may arrive.
    fn deliver_or_hold(&mut self, index: u8, frame: F, out: &mut Outbox<'_, F>) {
        let open = self.block.as_mut().expect("the frame is of an open block");
        let is_next = index == open.next;
        if self.config.order() == DeliveryOrder::InOrder && open.is_waiting() && !is_next {
            if self.held.len() <= usize::from(index) {
                self.held.resize(usize::from(index) + 1, None);
            }
            self.held[usize::from(index)] = Some(frame);
            out.counters.held += 1;
            out.counters.held_max = out.counters.held_max.max(out.counters.held);
            return;
        }
        out.disposals.push_back(Disposal::Deliver(frame));
        open.next += u8::from(is_next);
        if is_next && out.counters.held > 0 {
            let held = self.held.get_mut(usize::from(open.next)..).unwrap_or_default();
            for frame in held.iter_mut().map_while(Option::take) {
                open.next += 1;
                out.counters.held -= 1;
                out.disposals.push_back(Disposal::Deliver(frame));
            }
        }
    }

    /// Checks whether missing frames can be restored, may become so, or are lost.
    fn update_state(&mut self, out: &mut Outbox<'_, F>) {
        let open = self.block.as_mut().expect("a block is open on arrival");
        if !open.is_waiting() {
            return self.count_lost(out);
        }
        let data_count = open.data_count.unwrap_or(open.end);
        let missing = data_count - open.received_count;
        let parities_to_come =
            open.data_count.map_or(open.parities, |count| count + open.parities - open.end);
        if missing == 0 && open.data_count.is_some() {
            open.state = BlockState::Complete;
        } else if missing == 0 || open.state == BlockState::Recovering {
            // The block continues, or the host is restoring it.
        } else if missing <= open.parity_count {
            open.state = BlockState::Recovering;
            let missing = IndexSet::below(data_count).without(&open.received);
            out.disposals.push_back(Disposal::Recover { block: open.number, missing });
        } else if missing > open.parity_count + parities_to_come {
            self.give_up_block(out);
        }
    }

    /// Stops waiting for missing frames of this block.
    fn give_up_block(&mut self, out: &mut Outbox<'_, F>) {
        let Some(open) = &mut self.block else { return };
        if open.is_waiting() {
            open.state = BlockState::Unrecoverable { is_counted: false };
            self.deliver_held(out);
            self.count_lost(out);
        }
    }

    /// Counts the losses of an unrecoverable block once its number of frames is known.
    fn count_lost(&mut self, out: &mut Outbox<'_, F>) {
        let open = self.block.as_mut().expect("counted for an open block");
        if let (BlockState::Unrecoverable { is_counted: false }, Some(data_count)) =
            (open.state, open.data_count)
        {
            open.state = BlockState::Unrecoverable { is_counted: true };
            out.counters.lost += u64::from(data_count - open.received_count);
        }
    }

    /// Ends the block: block `next` has begun, or frames arrive without a header.
    fn end_block(&mut self, next: Option<u16>, out: &mut Outbox<'_, F>) {
        self.deliver_held(out);
        self.deadline = None;
        let Some(block) = self.block.take() else { return };
        out.disposals.push_back(Disposal::BlockDone { block: block.number });
        // Frames sent since the block began, including blocks lost as a whole.
        let known = u16::from(block.data_count.unwrap_or(block.end));
        let sent = match next.map(|next| next.wrapping_sub(block.number)) {
            Some(sent) if (known..=GAP_MAX).contains(&sent) => sent,
            Some(_) => {
                out.counters.restarts += 1;
                known
            }
            None => known,
        };
        let missed = sent - u16::from(block.received_count);
        let counted = match block.state {
            BlockState::Unrecoverable { is_counted: true } => known - u16::from(block.received_count),
            _ => 0,
        };
        out.counters.lost += u64::from(missed - counted);
    }

    fn deliver_held(&mut self, out: &mut Outbox<'_, F>) {
        if out.counters.held > 0 {
            let held = self.held.iter_mut().filter_map(Option::take).map(Disposal::Deliver);
            out.disposals.extend(held);
            out.counters.held = 0;
        }
    }

    fn set_deadline(&mut self, now: Time, counters: &Counters) {
        if counters.held == 0 {
            self.deadline = None;
        } else {
            self.deadline.get_or_insert(now.saturating_add(self.config.give_up()));
        }
    }
}

impl Block {
    /// Whether missing frames may still arrive or be restored.
    fn is_waiting(&self) -> bool {
        matches!(self.state, BlockState::Pending | BlockState::Recovering)
    }

    fn insert(&mut self, index: u8) {
        let is_new = self.received.insert(index);
        assert!(is_new, "an index is filled once");
        self.received_count += 1;
    }
}

/// Output of an input: disposals and counters.
pub(super) struct Outbox<'a, F> {
    pub(super) disposals: &'a mut VecDeque<Disposal<F>>,
    pub(super) counters: &'a mut Counters,
}

/// Position of a frame or parity in its block, from its header.
#[derive(Clone, Copy)]
struct BlockIndex {
    block: u16,
    index: u8,
    parities: u8,
    data_count: Option<u8>,
}

/// Whether a frame at this index and its parities fit into a block.
fn fits_block(index: u8, parities: u8) -> bool {
    parities > 0 && u16::from(index) + u16::from(parities) < 255
}
