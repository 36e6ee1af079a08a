//! A profile changes timers and reactions as the NIC has them.

use wiremend_scenario::Place;
use wiremend_sim::{Options, Simulation};

use crate::common::{NoFiles, run_scripted, scenario};

fn text(transport: &str) -> String {
    format!(
        "title = \"t\"\n[topology]\nkind = \"pair\"\n[transport]\n{transport}\n[[workload]]\nkind = \"flows\"\n\
         bytes = \"12KiB\"\npattern = \"point-to-point\"\n"
    )
}

/// Losses, timeouts without a profile, and timeouts with the profile.
const LOSSES: [(&str, [&str; 2], u32, u32); 5] = [
    ("the tail", ["{ psn = 11 }", ""], 1, 1),
    ("the tail ACK", ["", "{ packet = \"ack\", psn = 11 }"], 1, 1),
    ("the NAK", ["{ psn = 3 }", "{ packet = \"nak\" }"], 1, 1),
    ("a packet in the middle", ["{ psn = 3 }", ""], 0, 0),
    // The NAK for the second gap arrives without an ACK after the NAK for the first.
    ("two packets, one of them twice", ["{ psn = 3 }, { psn = 7, count = 2 }", ""], 0, 1),
];

#[test]
fn soft_roce_waits_for_its_jiffies_and_ignores_the_second_gap() {
    for (lost, rules, without, with) in LOSSES {
        for (profile, expected) in [("", without), ("profile = \"soft-roce\"", with)] {
            let (_, row) = run_scripted(&text(profile), "h0-tor", rules);
            assert_eq!(row.timeouts, expected, "{lost}, {profile}: {row:?}");
            let waited_ms = row.fct().as_ps() / 1_000_000_000;
            assert_eq!(
                waited_ms,
                if expected == 0 { 0 } else { 67 + u64::from(!profile.is_empty()) },
                "{lost}"
            );
        }
    }
}

#[test]
fn a_gap_in_a_read_waits_for_the_timer_of_soft_roce() {
    let lost = ["", "{ packet = \"read-response\", psn = 5 }"];
    let timeouts =
        |profile| run_scripted(&text(&format!("operation = \"read\"\n{profile}")), "h0-tor", lost).1.timeouts;
    assert_eq!([timeouts(""), timeouts("profile = \"soft-roce\"")], [0, 1]);
}

#[test]
fn a_profile_that_cannot_be_simulated_is_refused_at_its_name() {
    let refused = |transport: &str| {
        let scenario = scenario(&text(transport));
        let error = Simulation::build(&scenario, &NoFiles, &Options::new(1)).err().expect("it is refused");
        assert_ne!(error.place, Place::default(), "{transport}");
        error.what
    };
    assert!(refused("profile = \"none.toml\"").contains("there is no `none.toml`"));
    assert!(refused("profile = \"selective.toml\"").contains("set recovery = \"selective-repeat\""));
    let with_dummies = "profile = \"silent.toml\"\n[mend]\ndummies = 1";
    assert!(refused(with_dummies).contains("mend.tail_copies"));
    assert!(refused("profile = \"wrong.toml\"").contains("wrong.toml:2:2: unknown field `timr`"));
}
