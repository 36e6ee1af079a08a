//! NDP and CP.

use wiremend_proto::dcp::{Config, Parameters};
use wiremend_testkit::Direction::Forward;
use wiremend_testkit::Side::A;
use wiremend_testkit::{Fate, Pair, RandomFaults};
use wiremend_units::{Span, Time};

use super::{config, trim, trim_ppm};

fn took(pair: &Pair<Config>) -> Span {
    pair.now().since(Time::ZERO)
}

#[test]
fn an_ndp_sender_sends_its_window_and_then_one_packet_per_pull() {
    let mut pair = Pair::new(config(Parameters::ndp(10)));
    pair.write(A, 256 * 100);
    pair.run_for(Span::from_us(2));
    assert_eq!(pair.carried(Forward), 10, "before the first pull");
    pair.run_until_delivered();
    assert_eq!((pair.carried(Forward), pair.expired().len()), (100, 0));
}

/// The receiver sends a pull for each trimmed packet, so the sender never exceeds the rate of the receiver.
#[test]
fn trimmed_packets_are_pulled_again() {
    let faults = RandomFaults { reorder_ppm: 100_000, ..RandomFaults::default() };
    let mut pair = trim_ppm(Pair::new(config(Parameters::ndp(20))).impair(faults, 6), 300_000, 6);
    pair.write(A, 256 * 200);
    pair.run_for(Span::from_us(3));
    pair.write(A, 256 * 200);
    pair.run_until_delivered();
    assert_eq!(
        (pair.expired().len(), pair.requester(A).retransmitted_packets),
        (0, pair.receiver().dcp_counters().trimmed)
    );
}

/// A lost pull delays its packet until the next pull reports the total.
#[test]
fn lost_pulls_are_recovered() {
    let faults = RandomFaults { loss_ppm: 20_000, ..RandomFaults::default() };
    for seed in 0..20 {
        let mut pair = Pair::new(config(Parameters::ndp(16))).impair(faults, seed);
        pair.write(A, 256 * 300);
        pair.run_until_delivered();
    }
}

/// CP reports trimmed packets as precisely as DCP, but its software reacts later.
#[test]
fn cp_adds_the_latency_of_its_software() {
    let run = |dcp| {
        let mut pair = Pair::new(Config { parameters: dcp, ..config(dcp) })
            .fate(Forward, |sent| if sent.nth == 20 { trim(sent) } else { Fate::Arrives });
        pair.write(A, 256 * 20);
        pair.run_until_delivered();
        assert_eq!((pair.expired().len(), pair.requester(A).retransmitted_packets), (0, 1));
        took(&pair)
    };
    let (dcp, cp) = (run(Parameters::DCP), run(Parameters::cp(Span::from_us(10))));
    assert_eq!(cp.as_ps() - dcp.as_ps(), Span::from_us(8).as_ps(), "10 µs instead of two reads of 1 µs");
}
