//! A wire that drops the frames of a list, and records dropped frames.

use std::fs;

use super::line::{Line, Side};
use super::relay_net::{in_own_network, numbered};
use super::{PATIENCE, until};

#[test]
fn a_wire_plays_a_list_and_writes_it_down() {
    in_own_network(|| {
        let directory = tempfile::tempdir().unwrap();
        let [list, record] = ["list", "record"].map(|name| directory.path().join(name));
        fs::write(&list, "forward data 1 1\nforward data 1 2\n").unwrap();
        let line = Line::build(
            "--active --copies 2 --rate 100Mbps --give-up 1s",
            &format!("--faults {} --record {}", list.display(), record.display()),
        );
        line.await_protection();
        let [from, to] = Side::BOTH.map(|side| line.host(side));
        for number in 0..3 {
            from.send(&numbered(number)).unwrap();
            let next = || to.receive(PATIENCE).unwrap().expect("it arrives");
            while next().frame != numbered(number) {}
        }
        assert_eq!(line.status(Side::B).unwrap().link_counts["recovered"], 1);
        let lines = || fs::read_to_string(&record).unwrap();
        until("it is written down", || lines().lines().count() == 3);
        assert_eq!(lines(), "# direction, kind, number, copy\nforward data 1 1\nforward data 1 2\n");
        assert_eq!(line.wire_status().unwrap().faults_left, [0, 0]);
    });
}
