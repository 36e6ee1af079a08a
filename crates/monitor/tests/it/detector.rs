//! Detection of corrupting links.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use wiremend_monitor::{BadThresholds, Detector, FrameSample, LinkVerdict, Thresholds};

/// 1518-byte frames per second at 100G.
const FRAMES_PER_S: u64 = 8_127_438;

#[test]
fn a_corrupting_link_is_detected_after_three_losses() {
    let mut detector = Detector::new(Thresholds::default());
    assert_eq!(
        detector.on_sample(FrameSample { frames: 2_000, errors: 2 }),
        None,
        "two errors are not enough"
    );
    let Some(LinkVerdict::Raised(estimate)) = detector.on_sample(FrameSample { frames: 1_000, errors: 1 })
    else {
        panic!("three errors in three thousand frames exceed 1e-8");
    };
    assert_eq!((estimate.errors, estimate.frames), (3, 3_000));
    assert!(estimate.low > 1e-4 && estimate.high < 1e-2, "{estimate:?}");
}

/// Three errors in a hundred million frames may come from a loss below 1e-8.
#[test]
fn few_errors_in_many_frames_raise_no_verdict() {
    let mut detector = Detector::new(Thresholds::default());
    assert_eq!(detector.on_sample(FrameSample { frames: 100_000_000, errors: 3 }), None);
    assert!(!detector.is_corrupting());
}

/// LG appendix C: threshold 1e-8. A tenth of it raises no verdict, ten times as much does.
#[test]
fn healthy_links_raise_no_verdict_and_corrupting_links_do_soon() {
    for seed in 0..200 {
        let mut link = BusyLink::new(seed);
        let mut detector = Detector::new(Thresholds::default());
        for second in 0..600 {
            assert_eq!(detector.on_sample(link.second(1e-10)), None, "seed {seed}, second {second}");
        }
        let found = (1..=600).find(|_| detector.on_sample(link.second(1e-7)).is_some());
        // A hundred million frames take 12 s and contain ten losses.
        assert!(found.is_some_and(|second| second <= 30), "seed {seed}: {found:?}");
    }
}

#[test]
fn a_link_counts_as_clean_after_three_hundred_million_frames() {
    let mut detector = corrupting();
    let mut clean = 0;
    let cleared = loop {
        clean += FRAMES_PER_S;
        if let Some(verdict) = detector.on_sample(FrameSample { frames: FRAMES_PER_S, errors: 0 }) {
            break verdict;
        }
        assert!(clean < 1_000_000_000, "the verdict is never cleared");
    };
    assert!(clean >= 300_000_000, "{clean}");
    assert_eq!(cleared, LinkVerdict::Cleared { clean_frames: clean });
    assert!(!detector.is_corrupting());
}

#[test]
fn another_error_postpones_clearing() {
    let mut detector = corrupting();
    assert_eq!(detector.on_sample(FrameSample { frames: 299_999_999, errors: 0 }), None);
    assert!(!matches!(
        detector.on_sample(FrameSample { frames: 10, errors: 1 }),
        Some(LinkVerdict::Cleared { .. })
    ));
    assert_eq!(detector.on_sample(FrameSample { frames: 299_999_999, errors: 0 }), None);
    assert!(detector.on_sample(FrameSample { frames: 1, errors: 0 }).is_some());
}

#[test]
fn a_repair_clears_the_verdict_and_all_samples() {
    let mut detector = corrupting();
    assert!(matches!(detector.on_repair(), Some(LinkVerdict::Cleared { .. })));
    assert_eq!(detector.on_repair(), None);
    assert_eq!(
        detector.on_sample(FrameSample { frames: 100, errors: 2 }),
        None,
        "errors before the repair do not count"
    );
}

/// A hundred million good frames in the window must not hide a sudden rise.
#[test]
fn a_changing_loss_is_reported_in_both_directions() {
    let mut link = BusyLink::new(7);
    let mut detector = Detector::new(Thresholds::default());
    let mut reported = Vec::new();
    for (loss, seconds) in [(1e-5, 60), (1e-2, 5), (1e-4, 60)] {
        for _ in 0..seconds {
            if let Some(LinkVerdict::Raised(estimate) | LinkVerdict::Moved(estimate)) =
                detector.on_sample(link.second(loss))
            {
                reported.push(estimate.loss);
            }
        }
        let now = detector.estimate().loss;
        assert!((0.6..1.6).contains(&(now / loss)), "{now} for {loss}");
    }
    assert!((3..=5).contains(&reported.len()), "reported too often or too rarely: {reported:?}");
}

#[test]
fn unusable_thresholds_are_rejected() {
    let with = |loss, window_frames| Thresholds { loss, window_frames }.check();
    assert_eq!(with(1e-8, 100_000_000), Ok(()));
    assert_eq!(with(0.0, 100_000_000), Err(BadThresholds::Loss(0.0)));
    assert!(matches!(with(f64::NAN, 100_000_000), Err(BadThresholds::Loss(_))));
    assert!(matches!(with(1e-12, 1_000_000), Err(BadThresholds::Window { .. })));
}

fn corrupting() -> Detector {
    let mut detector = Detector::new(Thresholds::default());
    assert!(detector.on_sample(FrameSample { frames: 10_000, errors: 10 }).is_some());
    detector
}

/// A fully loaded link of 100G.
struct BusyLink {
    rng: Xoshiro256PlusPlus,
}

impl BusyLink {
    fn new(seed: u64) -> Self {
        Self { rng: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    fn second(&mut self, loss: f64) -> FrameSample {
        FrameSample { frames: FRAMES_PER_S, errors: self.errors(FRAMES_PER_S as f64 * loss) }
    }

    /// Draws a Poisson variable by products of uniform variables, in portions that do not underflow.
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
