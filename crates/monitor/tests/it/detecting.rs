//! When a link counts as corrupting.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use wiremend_monitor::{Detector, Sample, Thresholds, Unusable, Verdict};

/// Frames of 1518 bytes at 100G in a second.
const FRAMES_PER_S: u64 = 8_127_438;

#[test]
fn a_bad_link_is_known_after_a_handful_of_losses() {
    let mut detector = Detector::new(Thresholds::default());
    assert_eq!(detector.on_sample(Sample { frames: 2_000, errors: 2 }), None, "two errors may be anything");
    let Some(Verdict::Raised(estimate)) = detector.on_sample(Sample { frames: 1_000, errors: 1 }) else {
        panic!("three errors in three thousand frames are not 1e-8");
    };
    assert_eq!((estimate.errors, estimate.frames), (3, 3_000));
    assert!(estimate.low > 1e-4 && estimate.high < 1e-2, "{estimate:?}");
}

/// Three errors in a hundred million frames may well be less than 1e-8.
#[test]
fn few_errors_in_many_frames_raise_nothing() {
    let mut detector = Detector::new(Thresholds::default());
    assert_eq!(detector.on_sample(Sample { frames: 100_000_000, errors: 3 }), None);
    assert!(!detector.is_corrupting());
}

/// LG appendix C asks for 1e-8; a link ten times better than that must be left alone, one ten times worse must be found.
#[test]
fn healthy_links_raise_nothing_and_corrupting_ones_soon() {
    for seed in 0..200 {
        let mut link = Link::new(seed);
        let mut detector = Detector::new(Thresholds::default());
        for second in 0..600 {
            assert_eq!(detector.on_sample(link.second(1e-10)), None, "seed {seed}, second {second}");
        }
        let found = (1..=600).find(|_| detector.on_sample(link.second(1e-7)).is_some());
        // A hundred million frames are 12 s, and ten losses.
        assert!(found.is_some_and(|second| second <= 30), "seed {seed}: {found:?}");
    }
}

#[test]
fn a_link_counts_as_clean_after_three_hundred_million_frames() {
    let mut detector = corrupting();
    let mut clean = 0;
    let cleared = loop {
        clean += FRAMES_PER_S;
        if let Some(verdict) = detector.on_sample(Sample { frames: FRAMES_PER_S, errors: 0 }) {
            break verdict;
        }
        assert!(clean < 1_000_000_000, "it never clears");
    };
    assert!(clean >= 300_000_000, "{clean}");
    assert_eq!(cleared, Verdict::Cleared { clean_frames: clean });
    assert!(!detector.is_corrupting());
}

#[test]
fn one_more_error_puts_clearing_off() {
    let mut detector = corrupting();
    assert_eq!(detector.on_sample(Sample { frames: 299_999_999, errors: 0 }), None);
    assert!(!matches!(detector.on_sample(Sample { frames: 10, errors: 1 }), Some(Verdict::Cleared { .. })));
    assert_eq!(detector.on_sample(Sample { frames: 299_999_999, errors: 0 }), None);
    assert!(detector.on_sample(Sample { frames: 1, errors: 0 }).is_some());
}

#[test]
fn a_repair_clears_at_once_and_forgets() {
    let mut detector = corrupting();
    assert!(matches!(detector.on_repair(), Some(Verdict::Cleared { .. })));
    assert_eq!(detector.on_repair(), None);
    assert_eq!(
        detector.on_sample(Sample { frames: 100, errors: 2 }),
        None,
        "errors before the repair do not count"
    );
}

/// The window alone would dilute a sudden rise by a hundred million good frames.
#[test]
fn a_loss_that_moves_is_followed_both_ways() {
    let mut link = Link::new(7);
    let mut detector = Detector::new(Thresholds::default());
    let mut said = Vec::new();
    for (loss, seconds) in [(1e-5, 60), (1e-2, 5), (1e-4, 60)] {
        for _ in 0..seconds {
            if let Some(Verdict::Raised(estimate) | Verdict::Moved(estimate)) =
                detector.on_sample(link.second(loss))
            {
                said.push(estimate.loss);
            }
        }
        let now = detector.estimate().loss;
        assert!((0.6..1.6).contains(&(now / loss)), "{now} for {loss}");
    }
    assert!((3..=5).contains(&said.len()), "said too often or too rarely: {said:?}");
}

#[test]
fn thresholds_that_cannot_work_are_refused() {
    let with = |loss, window_frames| Thresholds { loss, window_frames }.check();
    assert_eq!(with(1e-8, 100_000_000), Ok(()));
    assert_eq!(with(0.0, 100_000_000), Err(Unusable::Loss(0.0)));
    assert!(matches!(with(f64::NAN, 100_000_000), Err(Unusable::Loss(_))));
    assert!(matches!(with(1e-12, 1_000_000), Err(Unusable::Window { .. })));
}

fn corrupting() -> Detector {
    let mut detector = Detector::new(Thresholds::default());
    assert!(detector.on_sample(Sample { frames: 10_000, errors: 10 }).is_some());
    detector
}

/// A busy link of 100G.
struct Link {
    rng: Xoshiro256PlusPlus,
}

impl Link {
    fn new(seed: u64) -> Self {
        Self { rng: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    fn second(&mut self, loss: f64) -> Sample {
        Sample { frames: FRAMES_PER_S, errors: self.errors(FRAMES_PER_S as f64 * loss) }
    }

    /// A Poisson variable: by the product of uniform ones, in portions that do not underflow.
    fn errors(&mut self, mean: f64) -> u64 {
        let mut rest = mean;
        let mut errors = 0;
        while rest > 0.0 {
            let portion = rest.min(100.0);
            rest -= portion;
            let mut product = self.uniform();
            while product > (-portion).exp() {
                errors += 1;
                product *= self.uniform();
            }
        }
        errors
    }

    fn uniform(&mut self) -> f64 {
        (self.rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }
}
