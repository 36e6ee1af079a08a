//! Any text and any override is either accepted or refused in one line.

use proptest::prelude::*;
use wiremend_scenario::{Override, builtin, load};

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_text_is_refused_in_one_line(text in "\\PC{0,200}") {
        if let Err(error) = load("any", &text, &[]) {
            assert_one_line(&error.to_string());
        }
    }

    /// Almost correct texts: a built-in scenario with some characters replaced.
    #[test]
    fn damaged_scenarios_are_understood_or_refused_in_one_line(
        which in 0..64_usize,
        damage in prop::collection::vec((0..4000_usize, "[-\\[\\]{}=\"'.,#0-9a-z\n]{0,3}"), 1..5),
    ) {
        let all = builtin::list();
        let mut text = builtin::get(all[which % all.len()].0).unwrap().to_owned();
        for (at, by) in damage {
            let at = at % text.len();
            if text.is_char_boundary(at) && text.is_char_boundary(at + 1) {
                text.replace_range(at..=at, &by);
            }
        }
        if let Err(error) = load("any", &text, &[]) {
            assert_one_line(&error.to_string());
        }
    }

    #[test]
    fn random_overrides_are_understood_or_refused_in_one_line(
        path in prop_oneof![
            "[a-z0-9.]{0,30}",
            "(topology|transport|workload|impair|variant|stop)(\\.(0|1|2|kind|rate|set|k|src|links|name)){0,3}",
        ],
        value in prop_oneof!["\\PC{0,20}", "[-0-9.]{1,20}", "\\[[0-9,\"]{0,9}\\]", "\\{ ?(kind|k|x) = [0-9]{1,3} ?\\}"],
    ) {
        let sets = [Override { path, value }];
        if let Err(error) = load("any", builtin::get("tour").unwrap(), &sets) {
            assert_one_line(&error.to_string());
        }
    }
}

fn assert_one_line(error: &str) {
    assert!(!error.contains(char::is_control), "{error:?}");
    assert!(error.starts_with("any:") || error.starts_with("--set "), "{error}");
    assert!(error.len() < 1600, "{error}");
}
