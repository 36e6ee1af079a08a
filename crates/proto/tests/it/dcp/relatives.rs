//! NDP and CP.

use wiremend_proto::dcp::{Config, Parameters};
use wiremend_testkit::Direction::Forward;
use wiremend_testkit::Side::A;
use wiremend_testkit::{Fate, Luck, Pair};
use wiremend_units::{Span, Time};

use super::{config, cut, cut_ppm};

fn took(pair: &Pair<Config>) -> Span {
    pair.now().since(Time::ZERO)
}

#[test]
fn an_ndp_sender_sends_its_window_and_then_what_is_pulled() {
    let mut pair = Pair::new(config(Parameters::ndp(10)));
    pair.write(A, 256 * 100);
    pair.run_for(Span::from_us(2));
    assert_eq!(pair.carried(Forward), 10, "before the first pull");
    pair.run_until_delivered();
    assert_eq!((pair.carried(Forward), pair.expired().len()), (100, 0));
}

/// Each cut packet is pulled for: what is sent never exceeds what the receiver can take.
#[test]
fn cut_packets_are_pulled_again() {
    let luck = Luck { reorder_ppm: 100_000, ..Luck::default() };
    let mut pair = cut_ppm(Pair::new(config(Parameters::ndp(20))).impair(luck, 6), 300_000, 6);
    pair.write(A, 256 * 200);
    pair.run_for(Span::from_us(3));
    pair.write(A, 256 * 200);
    pair.run_until_delivered();
    assert_eq!(
        (pair.expired().len(), pair.requester(A).retransmitted_packets),
        (0, pair.receiver().seen().cut)
    );
}

/// A pull that is lost costs its packet's turn until the next one tells the total.
#[test]
fn lost_pulls_are_made_up_for() {
    let luck = Luck { loss_ppm: 20_000, ..Luck::default() };
    for seed in 0..20 {
        let mut pair = Pair::new(config(Parameters::ndp(16))).impair(luck, seed);
        pair.write(A, 256 * 300);
        pair.run_until_delivered();
    }
}

/// CP's notice is as precise as DCP's, and its software slower to act.
#[test]
fn cp_takes_the_time_of_its_software() {
    let run = |dcp| {
        let mut pair = Pair::new(Config { parameters: dcp, ..config(dcp) })
            .fate(Forward, |of| if of.nth == 20 { cut(of) } else { Fate::Arrives });
        pair.write(A, 256 * 20);
        pair.run_until_delivered();
        assert_eq!((pair.expired().len(), pair.requester(A).retransmitted_packets), (0, 1));
        took(&pair)
    };
    let (dcp, cp) = (run(Parameters::DCP), run(Parameters::cp(Span::from_us(10))));
    assert_eq!(cp.as_ps() - dcp.as_ps(), Span::from_us(8).as_ps(), "10 µs instead of two reads of 1 µs");
}
