//! Single frames of a protected link, selected by their link headers.

use crate::common::{NoFiles, run, scenario};
use wiremend_sim::{LinkEndCounters, Options, Simulation};

/// A frame every 100 µs over a link that recovers long before the next one.
fn over_a_link(impair: &str, protect: &str) -> String {
    format!(
        "title = \"faults\"\n[topology]\nkind = \"chain\"\nswitches = 2\nhosts_per_end = 1\nrate = \"10Gbps\"\ndelay = \"500ns\"\n\
         [[workload]]\nkind = \"cbr\"\nrate = \"84Mbps\"\nframe = 1030\nstart = \"100us\"\n\
         [stop]\nafter = \"2ms\"\n[[impair]]\nkind = \"script\"\nlinks = \"switches\"\n{impair}\n{protect}"
    )
}

const HARDENED: &str = "[[protect]]\nlinks = \"switches\"\nby = \"linkguardian\"\ncopies = 1\n";
const PAPER: &str = "[[protect]]\nlinks = \"switches\"\nby = \"linkguardian\"\nprofile = \"prototype\"\nswitch = \"ideal\"\ncopies = 1\n";

fn ends(impair: &str, protect: &str) -> [LinkEndCounters; 2] {
    let (results, _) = run(&over_a_link(impair, protect));
    let [sender, receiver] = &results.link_ends[..] else { panic!("one link has two ends") };
    [*sender, *receiver]
}

#[test]
fn a_rule_selects_a_frame_by_its_link_header() {
    for protect in [HARDENED, PAPER] {
        let [sender, receiver] = ends("rules = [{ link = \"data\", seq = 5 }]", protect);
        assert_eq!((receiver.sum.missed, receiver.sum.recovered, receiver.sum.lost), (1, 1, 0), "{protect}");
        assert_eq!(sender.sum.resent.frames, 1, "{protect}");
    }
    let dummies = "direction = \"forward\"\nrules = [{ link = \"dummy\", count = 1000 }]";
    assert_eq!(ends(dummies, HARDENED)[1].sum.missed, 0, "only dummies are lost");
}

/// The original frame, the notification, and the copy after the next notification.
#[test]
fn a_list_of_faults_comes_from_a_file() {
    let [sender, receiver] = ends("faults = \"three.faults\"", HARDENED);
    assert_eq!((receiver.sum.missed, receiver.sum.recovered), (1, 1));
    assert_eq!(sender.sum.resent.frames, 2);
    let [sender, receiver] = ends("direction = \"backward\"\nfaults = \"three.faults\"", HARDENED);
    assert_eq!((receiver.sum.missed, sender.sum.resent.frames), (0, 0), "no hole, so no notification");
}

#[test]
fn rules_without_effect_are_rejected() {
    let refused = |impair: &str, protect: &str| {
        let options = Options::new(1);
        let Err(error) = Simulation::build(&scenario(&over_a_link(impair, protect)), &NoFiles, &options)
        else {
            panic!("{impair} is taken")
        };
        error.what
    };
    let bad = refused("faults = \"bad.faults\"", HARDENED);
    assert!(bad.starts_with("bad.faults: line 2: `forward data 5` is not a fault; "), "{bad}");
    assert_eq!(refused("faults = \"none.faults\"", HARDENED), "there is no `none.faults`");
    for impair in ["faults = \"three.faults\"", "rules = [{ seq = 5 }]", "rules = [{ link = \"ack\" }]"] {
        let what = refused(impair, "");
        assert!(what.contains("is not protected"), "{what}");
    }
}
