//! Buffers of the prototype in a switch that has memory: what is kept is judged when what it waits for changes, and at no other time.
//!
//! Nothing turns here, so nothing is late by a turn, no loopback port is shared and no pipeline is taken. What is left of the prototype are
//! its registers, its slots, its one notification and its thresholds.

use std::cmp::Ordering;
use std::collections::VecDeque;

use wiremend_proto::link::paper::{Judgement, Verdict};
use wiremend_units::{LaneId, SwitchId, Time};

use super::guard::Protocol;
use super::loopback::{Side, Turning};
use crate::link::Wires;

/// Where a port of the prototype keeps frames.
pub(crate) enum Home {
    /// In the loop through the loopback port of this switch.
    Loopback(SwitchId),
    /// In memory of its own.
    Memory(Box<Memory>),
}

/// Frames that are kept, lowest number first.
#[derive(Default)]
pub(crate) struct Memory {
    tx: VecDeque<Turning>,
    rx: VecDeque<Turning>,
}

impl Home {
    pub(crate) fn memory() -> Self {
        Self::Memory(Box::default())
    }
}

impl Memory {
    /// Most come in the order of their numbers; what was sent again does not. Of the same number, the first stays first.
    pub(super) fn insert(&mut self, turning: Turning) {
        let buffer = self.side(turning.side);
        let later = |kept: &&Turning| kept.number.compare(turning.number) == Ordering::Greater;
        let behind = buffer.iter().rev().take_while(later).count();
        buffer.insert(buffer.len() - behind, turning);
    }

    fn first(&self, side: Side) -> Option<Turning> {
        if side == Side::Tx { self.tx.front() } else { self.rx.front() }.copied()
    }

    fn remove_first(&mut self, side: Side) {
        self.side(side).pop_front();
    }

    fn side(&mut self, side: Side) -> &mut VecDeque<Turning> {
        if side == Side::Tx { &mut self.tx } else { &mut self.rx }
    }
}

impl Wires {
    /// Something has arrived, or a time has come: what was kept for it goes. A port without memory has nothing to do.
    pub(super) fn settle(&mut self, now: Time, lane: LaneId) {
        let guard = self.guards[lane.index()].as_ref().expect("a protected port");
        if !matches!(&guard.protocol, Protocol::Prototype(port) if matches!(port.home, Home::Memory(_))) {
            return;
        }
        while let Some(turning) = self.first_kept(lane, Side::Rx) {
            match self.prototype(lane).judge(now, &turning) {
                Verdict::Hold => break,
                Verdict::Forward => self.hand_on(lane, turning.frame),
                Verdict::Drop => self.take_away(lane, turning.frame),
            }
            self.forget_first(&turning);
        }
        while let Some(turning) = self.first_kept(lane, Side::Tx) {
            match self.prototype(lane).judge_copy(&turning) {
                Judgement::Again => break,
                Judgement::Drop => self.release(turning.frame),
                Judgement::Resend { copies } => self.resend(turning, copies),
            }
            self.forget_first(&turning);
        }
        self.prototype(lane).judge_depth();
    }

    fn first_kept(&mut self, lane: LaneId, side: Side) -> Option<Turning> {
        match &self.prototype(lane).home {
            Home::Memory(memory) => memory.first(side),
            Home::Loopback(_) => None,
        }
    }

    fn forget_first(&mut self, turning: &Turning) {
        let port = self.prototype(turning.lane);
        port.on_gone(turning);
        if let Home::Memory(memory) = &mut port.home {
            memory.remove_first(turning.side);
        }
    }
}
