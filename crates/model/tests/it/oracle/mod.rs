//! A small random simulation of the protocol, packet by packet, as a reference for the closed forms.
//!
//! One queue pair in a closed loop. The requester sends a burst and then acts on the answers that arrive: on
//! a NAK, on its timer, or by posting the next flow.

use wiremend_model::{Cause, MendCounts};

/// Loss of each kind of frame, before and after the switch that copies.
#[derive(Clone, Copy)]
pub(crate) struct Losses {
    pub(crate) data: (f64, f64),
    pub(crate) dummy: (f64, f64),
    pub(crate) answer: (f64, f64),
}

pub(crate) struct Counted {
    pub(crate) flows: u64,
    pub(crate) timeouts: [u64; 4],
    /// Flows with a timeout.
    pub(crate) hit: u64,
    pub(crate) naks: u64,
}

/// xorshift64*, a simple random generator.
struct Random(u64);

impl Random {
    fn lost(&mut self, chance: f64) -> bool {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let draw = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11;
        (draw as f64) < chance * (1_u64 << 53) as f64
    }
}

struct World {
    random: Random,
    losses: Losses,
    mend: MendCounts,
    /// Sequence numbers of a flow and its dummies.
    period: u64,
    data: u64,
    una: u64,
    expected: u64,
    asked: bool,
    nak_received: bool,
    /// The PSN that the requester's switch will copy.
    register: Option<u64>,
    counted: Counted,
}

/// Runs consecutive flows of `data` packets.
pub(crate) fn run(seed: u64, flows: u64, data: u64, mend: MendCounts, losses: Losses) -> Counted {
    let mut world = World {
        random: Random(seed | 1),
        losses,
        mend,
        period: data + u64::from(mend.dummies),
        data,
        una: 0,
        expected: 0,
        asked: false,
        nak_received: false,
        register: None,
        counted: Counted { flows, timeouts: [0; 4], hit: 0, naks: 0 },
    };
    let mut rewind = None;
    for flow in 0..flows {
        rewind = world.flow(flow * world.period, rewind);
    }
    world.counted
}

/// A received NAK, and whether a second copy arrived.
type Rewind = Option<bool>;

impl World {
    /// Runs one flow until it is acknowledged. Returns a pending rewind for the next flow.
    fn flow(&mut self, first: u64, pending: Rewind) -> Rewind {
        let (end, done) = (first + self.period, first + self.data);
        let mut burst = match pending {
            Some(again) => self.repeats(again, end),
            None => (first..end).collect(),
        };
        let mut hit = false;
        loop {
            let rewind = self.burst(&burst);
            if self.una >= done {
                self.counted.hit += u64::from(hit);
                // The copies of a NAK for a dummy arrive while the next flow's first packet is sent.
                return rewind.map(|_| false);
            }
            if let Some(again) = rewind {
                burst = self.repeats(again, end);
                continue;
            }
            hit = true;
            let cause = if self.expected >= done {
                Cause::TailAck
            } else if self.nak_received {
                Cause::Retransmission
            } else if self.asked {
                Cause::Nak
            } else {
                Cause::TailPacket
            };
            self.counted.timeouts[cause as usize] += 1;
            burst = (self.una..end).collect();
        }
    }

    fn repeats(&self, again: bool, end: u64) -> Vec<u64> {
        again.then_some(self.una).into_iter().chain(self.una..end).collect()
    }

    /// Sends packets and processes the answers.
    fn burst(&mut self, packets: &[u64]) -> Rewind {
        let mut rewind = None;
        for &psn in packets {
            let is_dummy = psn % self.period >= self.data;
            let (before, behind) = if is_dummy { self.losses.dummy } else { self.losses.data };
            if self.random.lost(before) {
                continue;
            }
            let copies = if self.register == Some(psn) {
                self.register = None;
                self.mend.retransmission_copies
            } else {
                0
            };
            for _ in 0..=copies {
                if !self.random.lost(behind)
                    && let Some(nak) = self.arrive(psn)
                {
                    rewind = Some(nak);
                }
            }
        }
        rewind
    }

    /// Processes a packet at the responder; returns the NAK that it causes.
    fn arrive(&mut self, psn: u64) -> Rewind {
        if psn > self.expected {
            if self.asked {
                return None;
            }
            self.asked = true;
            self.counted.naks += 1;
            return self.nak();
        }
        if psn == self.expected {
            self.expected += 1;
            self.asked = false;
        }
        let (before, behind) = self.losses.answer;
        if !self.random.lost(before) && !self.random.lost(behind) {
            self.acknowledge(self.expected);
        }
        None
    }

    fn nak(&mut self) -> Rewind {
        let (before, behind) = self.losses.answer;
        if self.random.lost(before) {
            return None;
        }
        let came = (0..=self.mend.nak_copies).filter(|_| !self.random.lost(behind)).count();
        if came == 0 {
            return None;
        }
        self.acknowledge(self.expected);
        self.nak_received = true;
        self.register = Some(self.expected);
        Some(came > 1)
    }

    fn acknowledge(&mut self, limit: u64) {
        if limit > self.una {
            self.una = limit;
            self.nak_received = false;
        }
    }
}
