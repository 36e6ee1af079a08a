//! What is drawn when not all can be.

use wiremend_measure::TraceRecord;

/// A record to draw, or a stretch of records that is not drawn.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Step {
    Record(TraceRecord),
    Elided { count: usize, until: TraceRecord },
}

/// At most `most` (at least 2) of the records: the first and the last, all that is remarkable, and as much before and
/// after each of these as there is room for. If even the remarkable ones are too many, the middle of them goes.
pub(super) fn select(records: &[TraceRecord], most: usize) -> Vec<Step> {
    let most = most.max(2);
    let last = records.len().saturating_sub(1);
    let is_anchor = |i: usize| i == 0 || i == last || records[i].what.is_remarkable();
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
    // The largest surroundings that fit: larger ones never keep less.
    let fits = |around: usize| kept(around).into_iter().filter(|&kept| kept).count() <= most;
    let (mut around, mut too_large) = (0, most + 1);
    while around + 1 < too_large {
        let middle = usize::midpoint(around, too_large);
        if fits(middle) { around = middle } else { too_large = middle }
    }
    steps(records, &kept(around))
}

fn steps(records: &[TraceRecord], kept: &[bool]) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut missing = 0;
    for (&record, &kept) in records.iter().zip(kept) {
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
    use wiremend_measure::{TimeoutCause, TraceWhat};
    use wiremend_units::{NodeId, Psn, Time};

    use super::*;

    fn records(count: u32, timer_at: u32) -> Vec<TraceRecord> {
        let what = |i: u32| match i {
            i if i == timer_at => {
                TraceWhat::TimerFired { oldest: Psn::new(i), cause: Some(TimeoutCause::TailPacket) }
            }
            i => TraceWhat::Accepted { psn: Psn::new(i) },
        };
        (0..count)
            .map(|i| TraceRecord { time: Time::from_ns(i.into()), node: NodeId(0), what: what(i) })
            .collect()
    }

    fn drawn(steps: &[Step]) -> usize {
        steps.iter().filter(|step| matches!(step, Step::Record(_))).count()
    }

    #[test]
    fn all_is_drawn_where_it_fits() {
        assert_eq!(drawn(&select(&records(100, 50), 100)), 100);
        assert!(select(&[], 10).is_empty());
    }

    #[test]
    fn the_remarkable_is_kept_with_its_surroundings_and_the_rest_is_counted() {
        let steps = select(&records(10_000, 5_000), 41);
        assert!(drawn(&steps) <= 41 && drawn(&steps) > 30, "{}", drawn(&steps));
        assert!(steps.iter().any(|step| matches!(step, Step::Record(r) if r.what.is_remarkable())));
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
    fn too_many_remarkable_ones_lose_their_middle() {
        let mut records = records(1_000, 0);
        for record in &mut records {
            record.what = TraceWhat::Completed;
        }
        let steps = select(&records, 20);
        assert_eq!((drawn(&steps), steps.len()), (20, 21));
    }
}
