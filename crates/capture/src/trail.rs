//! Gaps in the IP identifications of a host: frames that were lost before the tap.
//!
//! Many hosts number the packets to one destination, or all their packets, by one. Where consecutive frames at a
//! tap have consecutive numbers, nothing between them was lost before the tap. A gap may have other causes, such as
//! packets to other destinations, so it shows no loss.

use crate::record::{HostIndex, Record, Table, TapIndex};

/// The place of a frame among those from one host to another at a tap.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Trail {
    /// Its number, from 1.
    pub(crate) number: u64,
    /// Number of the last frame, perhaps this one, whose identification does not follow that of the frame before.
    pub(crate) gap: u64,
    /// Identifications that were left out in all gaps so far.
    pub(crate) missing: u64,
}

/// Most directions that are followed.
const DIRECTIONS_MAX: usize = 1 << 16;

#[derive(Default)]
pub(crate) struct Trails {
    directions: Table<(TapIndex, HostIndex, HostIndex), (Trail, u16)>,
}

impl Trails {
    /// Notes a frame. A direction beyond the limit has a gap before each frame.
    pub(crate) fn note(&mut self, record: &Record) -> Trail {
        let key = (record.stream.tap, record.stream.from, record.stream.to);
        if self.directions.len() == DIRECTIONS_MAX && !self.directions.contains_key(&key) {
            return Trail { number: 1, gap: 1, missing: 0 };
        }
        let (trail, last_id) = self.directions.entry(key).or_default();
        trail.number += 1;
        let ahead = record.ip_id.wrapping_sub(*last_id);
        if ahead != 1 {
            trail.gap = trail.number;
            trail.missing += u64::from(ahead.wrapping_sub(1));
        }
        *last_id = record.ip_id;
        *trail
    }
}
