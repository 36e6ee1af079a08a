//! The receiving half: tells what is missing, and when nothing more can be done about it.

use std::collections::VecDeque;

use wiremend_units::Time;

use super::{Config, Counters, Disposal, IndexSet, Order, Signal};

/// Frames that may be missed in a row before the numbers are taken for those of a sender that began anew.
const GAP_MAX: u16 = 4_096;

#[derive(Clone, Debug)]
pub(super) struct Receiver<F> {
    config: Config,
    block: Option<Block>,
    /// Frames of the block that wait for an earlier one, by their index.
    held: Vec<Option<F>>,
    /// When they have waited long enough.
    deadline: Option<Time>,
}

/// What is known of the block that is arriving.
#[derive(Clone, Copy, Debug)]
struct Block {
    number: u16,
    /// How many parities there will be.
    parities: u8,
    /// How many frames there are: known from the first parity on.
    data_count: Option<u8>,
    /// Frames that came or were restored.
    here: IndexSet,
    here_count: u8,
    parity_count: u8,
    /// One more than the last index that came, in the order of the wire.
    end: u8,
    /// The first frame that was not handed on.
    next: u8,
    fate: Fate,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    /// What is missing may still be restored.
    Hopeful,
    /// The host restores what is missing.
    Asked,
    /// What is missing will not be restored; the losses are counted, or not yet because their number is not known.
    Hopeless { is_counted: bool },
    /// Nothing is missing.
    Complete,
}

impl<F: Copy> Receiver<F> {
    pub(super) fn new(config: Config) -> Self {
        Self { config, block: None, held: Vec::new(), deadline: None }
    }

    /// A frame with a header.
    pub(super) fn on_signal(
        &mut self,
        now: Time,
        signal: Signal,
        frame: Option<F>,
        out: &mut Outcome<'_, F>,
    ) {
        match (signal, frame) {
            (Signal::Data { block, index, parities }, Some(frame)) if is_place(index, parities) => {
                self.on_data(Place { block, index, parities, data_count: None }, frame, out);
            }
            (Signal::Parity { block, index, data_count, parities }, None)
                if data_count > 0
                    && index >= data_count
                    && is_place(data_count - 1, parities)
                    && u16::from(index) < u16::from(data_count) + u16::from(parities) =>
            {
                self.on_parity(Place { block, index, parities, data_count: Some(data_count) }, out);
            }
            (_, frame) => {
                out.counters.malformed += 1;
                out.disposals.extend(frame.map(Disposal::Discard));
            }
        }
        self.set_deadline(now, out.counters);
    }

    /// A frame without a header: the sender has fallen dormant, or was.
    pub(super) fn on_plain(&mut self, frame: F, out: &mut Outcome<'_, F>) {
        self.end_block(None, out);
        out.disposals.push_back(Disposal::Deliver(frame));
    }

    /// A frame was restored.
    pub(super) fn on_recovered(
        &mut self,
        now: Time,
        block: u16,
        index: u8,
        frame: F,
        out: &mut Outcome<'_, F>,
    ) {
        let asked = self.block.as_mut().filter(|open| {
            open.number == block
                && open.fate == Fate::Asked
                && open.data_count.is_some_and(|count| index < count)
                && !open.here.contains(index)
        });
        let Some(open) = asked else {
            out.counters.late += 1;
            out.disposals.push_back(Disposal::Discard(frame));
            return;
        };
        open.insert(index);
        out.counters.recovered += 1;
        self.hand_on(index, frame, out);
        self.judge(out);
        self.set_deadline(now, out.counters);
    }

    pub(super) fn on_timeout(&mut self, now: Time, out: &mut Outcome<'_, F>) {
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            out.counters.given_up += 1;
            self.despair(out);
            self.set_deadline(now, out.counters);
        }
    }

    pub(super) fn next_timeout(&self) -> Option<Time> {
        self.deadline
    }

    fn on_data(&mut self, place: Place, frame: F, out: &mut Outcome<'_, F>) {
        let open = self.open(place, out);
        // A frame behind a parity of its own block, or one that promises another number of parities.
        if open.data_count.is_some() || open.parities != place.parities {
            out.counters.malformed += 1;
            out.disposals.push_back(Disposal::Discard(frame));
            return;
        }
        open.end = place.index + 1;
        open.insert(place.index);
        out.counters.arrived += 1;
        self.hand_on(place.index, frame, out);
        self.judge(out);
    }

    fn on_parity(&mut self, place: Place, out: &mut Outcome<'_, F>) {
        let open = self.open(place, out);
        let fits = match open.data_count {
            Some(_) => open.data_count == place.data_count,
            None => place.data_count.is_some_and(|data_count| data_count >= open.end),
        };
        if !fits || open.parities != place.parities {
            out.counters.malformed += 1;
            return;
        }
        open.data_count = place.data_count;
        open.end = place.index + 1;
        open.parity_count += 1;
        self.judge(out);
    }

    /// The block of this place. A link keeps order: another number, or a place that has been passed, is of a later block.
    fn open(&mut self, place: Place, out: &mut Outcome<'_, F>) -> &mut Block {
        let is_same =
            self.block.as_ref().is_some_and(|open| open.number == place.block && place.index >= open.end);
        if !is_same {
            self.end_block(Some(place.block), out);
        }
        self.block.get_or_insert_with(|| Block {
            number: place.block,
            parities: place.parities,
            data_count: None,
            here: IndexSet::default(),
            here_count: 0,
            parity_count: 0,
            end: 0,
            next: 0,
            fate: Fate::Hopeful,
        })
    }

    /// Hands a frame of the block on, or holds it as long as an earlier one may come.
    fn hand_on(&mut self, index: u8, frame: F, out: &mut Outcome<'_, F>) {
        let open = self.block.as_mut().expect("the frame is of an open block");
        let is_next = index == open.next;
        if self.config.order() == Order::Kept && open.is_waiting() && !is_next {
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

    /// Whether what is missing can, may still, or cannot be restored.
    fn judge(&mut self, out: &mut Outcome<'_, F>) {
        let open = self.block.as_mut().expect("judged on arrival");
        if !open.is_waiting() {
            return self.count_lost(out);
        }
        let data_count = open.data_count.unwrap_or(open.end);
        let missing = data_count - open.here_count;
        let parities_to_come =
            open.data_count.map_or(open.parities, |count| count + open.parities - open.end);
        if missing == 0 && open.data_count.is_some() {
            open.fate = Fate::Complete;
        } else if missing == 0 || open.fate == Fate::Asked {
            // Nothing to do before the block goes on, or the host has done its part.
        } else if missing <= open.parity_count {
            open.fate = Fate::Asked;
            let missing = IndexSet::below(data_count).without(&open.here);
            out.disposals.push_back(Disposal::Recover { block: open.number, missing });
        } else if missing > open.parity_count + parities_to_come {
            self.despair(out);
        }
    }

    /// Nothing more is waited for in this block.
    fn despair(&mut self, out: &mut Outcome<'_, F>) {
        let Some(open) = &mut self.block else { return };
        if open.is_waiting() {
            open.fate = Fate::Hopeless { is_counted: false };
            self.deliver_held(out);
            self.count_lost(out);
        }
    }

    /// Counts what a hopeless block has lost, once it is known how long it was.
    fn count_lost(&mut self, out: &mut Outcome<'_, F>) {
        let open = self.block.as_mut().expect("counted for an open block");
        if let (Fate::Hopeless { is_counted: false }, Some(data_count)) = (open.fate, open.data_count) {
            open.fate = Fate::Hopeless { is_counted: true };
            out.counters.lost += u64::from(data_count - open.here_count);
        }
    }

    /// The block is over, since one with the number `next` has begun or frames come without a header.
    fn end_block(&mut self, next: Option<u16>, out: &mut Outcome<'_, F>) {
        self.deliver_held(out);
        self.deadline = None;
        let Some(block) = self.block.take() else { return };
        out.disposals.push_back(Disposal::Settled { block: block.number });
        // What was sent since the block began, whole blocks that were missed included.
        let known = u16::from(block.data_count.unwrap_or(block.end));
        let sent = match next.map(|next| next.wrapping_sub(block.number)) {
            Some(sent) if (known..=GAP_MAX).contains(&sent) => sent,
            Some(_) => {
                out.counters.restarts += 1;
                known
            }
            None => known,
        };
        let missed = sent - u16::from(block.here_count);
        let counted = match block.fate {
            Fate::Hopeless { is_counted: true } => known - u16::from(block.here_count),
            _ => 0,
        };
        out.counters.lost += u64::from(missed - counted);
    }

    fn deliver_held(&mut self, out: &mut Outcome<'_, F>) {
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
    /// Whether what is missing may still come.
    fn is_waiting(&self) -> bool {
        matches!(self.fate, Fate::Hopeful | Fate::Asked)
    }

    fn insert(&mut self, index: u8) {
        let is_new = self.here.insert(index);
        assert!(is_new, "a place is filled once");
        self.here_count += 1;
    }
}

/// Where an input leaves its marks.
pub(super) struct Outcome<'a, F> {
    pub(super) disposals: &'a mut VecDeque<Disposal<F>>,
    pub(super) counters: &'a mut Counters,
}

/// A place in a block, as a header says.
#[derive(Clone, Copy)]
struct Place {
    block: u16,
    index: u8,
    parities: u8,
    data_count: Option<u8>,
}

/// Whether a frame at this index and its parities fit in a block.
fn is_place(index: u8, parities: u8) -> bool {
    parities > 0 && u16::from(index) + u16::from(parities) < 255
}
