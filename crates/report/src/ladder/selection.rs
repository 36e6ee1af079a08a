//! Selection of records if there are too many to draw.

use wiremend_measure::TraceRecord;

/// A record to draw, or a number of records that are left out.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Step {
    Record(TraceRecord),
    Elided { count: usize, until: TraceRecord },
}

/// Selects at most `most` (at least 2) records: the first, the last, all notable ones, and as many before and
/// after each of these as fit. If there are too many notable ones, the middle of them is left out. `missing` is the
/// number of records before the last one that were not kept.
pub(super) fn select(records: &[TraceRecord], missing: u64, most: usize) -> Vec<Step> {
    let most = most.max(2);
    let last = records.len().saturating_sub(1);
    let is_anchor = |i: usize| i == 0 || i == last || records[i].event.is_notable();
    let mut anchors: Vec<usize> = (0..records.len()).filter(|&i| is_anchor(i)).collect();
    if anchors.len() > most {
        let half = most / 2;
        anchors.drain(half..anchors.len() - (most - half));
    }
    let kept = |around: usize| {
        let mut kept = vec![false; records.len()];
        for &anchor in &anchors {
            kept[anchor.saturating_sub(around)..(anchor + around + 1).min(records.len())].fill(true);
        }
        kept
    };
    // The largest neighbourhood that fits. A larger one never keeps fewer records.
    let fits = |around: usize| kept(around).into_iter().filter(|&kept| kept).count() <= most;
    let (mut around, mut too_large) = (0, most + 1);
    while around + 1 < too_large {
        let middle = usize::midpoint(around, too_large);
        if fits(middle) { around = middle } else { too_large = middle }
    }
    steps(records, missing as usize, &kept(around))
}

fn steps(records: &[TraceRecord], before_last: usize, kept: &[bool]) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut missing = 0;
    for (index, (&record, &kept)) in records.iter().zip(kept).enumerate() {
        if index + 1 == records.len() {
            missing += before_last;
        }
        if !kept {
            missing += 1;
            continue;
        }
        if missing > 0 {
            steps.push(Step::Elided { count: missing, until: record });
            missing = 0;
        }
        steps.push(Step::Record(record));
    }
    steps
}

#[cfg(test)]
mod tests {
    use wiremend_measure::{TimeoutCause, TraceEvent};
    use wiremend_units::{NodeId, Psn, Time};

    use super::*;

    fn records(count: u32, timer_at: u32) -> Vec<TraceRecord> {
        let event = |i: u32| match i {
            i if i == timer_at => {
                TraceEvent::TimerFired { oldest: Psn::new(i), cause: Some(TimeoutCause::TailPacket) }
            }
            i => TraceEvent::Accepted { psn: Psn::new(i) },
        };
        (0..count)
            .map(|i| TraceRecord { time: Time::from_ns(i.into()), node: NodeId(0), event: event(i) })
            .collect()
    }

    fn drawn(steps: &[Step]) -> usize {
        steps.iter().filter(|step| matches!(step, Step::Record(_))).count()
    }

    #[test]
    fn all_records_are_drawn_if_they_fit() {
        assert_eq!(drawn(&select(&records(100, 50), 0, 100)), 100);
        assert!(select(&[], 0, 10).is_empty());
    }

    #[test]
    fn notable_records_are_kept_with_their_neighbours_and_the_rest_is_counted() {
        let steps = select(&records(10_000, 5_000), 0, 41);
        assert!(drawn(&steps) <= 41 && drawn(&steps) > 30, "{}", drawn(&steps));
        assert!(steps.iter().any(|step| matches!(step, Step::Record(r) if r.event.is_notable())));
        let elided: Vec<_> = steps
            .iter()
            .filter_map(|step| match step {
                Step::Elided { count, .. } => Some(*count),
                Step::Record(_) => None,
            })
            .collect();
        assert_eq!(elided.len(), 2);
        assert_eq!(elided.iter().sum::<usize>() + drawn(&steps), 10_000);
    }

    #[test]
    fn too_many_notable_records_lose_their_middle() {
        let mut records = records(1_000, 0);
        for record in &mut records {
            record.event = TraceEvent::Completed;
        }
        let steps = select(&records, 0, 20);
        assert_eq!((drawn(&steps), steps.len()), (20, 21));
    }
}
