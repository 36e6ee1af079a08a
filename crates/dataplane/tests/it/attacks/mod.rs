//! Attacks on a protected link, with their damage. `cargo xtask attack` prints the table.

mod arena;
mod intruder;

use wiremend_units::{Span, Time};
use wiremend_wire::link::{HelloKind, LinkCodec, LinkHeader};

use crate::datapath_pair::{DataPathPair, frame};
use arena::{Arena, Damage, Defence};
use intruder::{Attack, Intruder};

/// An attack, with its rate in frames per second and the loss in percent that it causes at least without a
/// defence.
struct Case {
    name: &'static str,
    attack: Attack,
    per_second: u64,
    harm_min: f64,
}

const fn case(name: &'static str, attack: Attack, per_second: u64, harm_min: f64) -> Case {
    Case { name, attack, per_second, harm_min }
}

const CASES: [Case; 17] = [
    case("data, any number", Attack::Data, 300, 10.0),
    case("data, five ahead", Attack::DataClose, 300, 2.0),
    case("unprotected, any number", Attack::Unprotected, 300, 10.0),
    case("dummy, any number", Attack::Dummy, 300, 10.0),
    case("ACK, any number", Attack::Ack, 300, 0.0),
    case("missing, any number", Attack::Missing, 300, 0.0),
    case("hello: open", Attack::Hello(HelloKind::Open), 300, 0.01),
    case("hello: accept", Attack::Hello(HelloKind::Accept), 300, 0.0),
    case("hello: close", Attack::Hello(HelloKind::Close), 300, 0.005),
    case("hello: closed", Attack::Hello(HelloKind::Closed), 300, 0.0),
    case("hello: unknown", Attack::Hello(HelloKind::Unknown), 300, 0.01),
    case("hello: leave", Attack::Hello(HelloKind::Leave), 300, 0.1),
    case("garbage", Attack::Garbage, 20_000, 10.0),
    case("truncated frames", Attack::Truncated, 20_000, 0.0),
    case("replayed frames", Attack::Replay, 20_000, 0.0),
    case("link-local flood, from the LAN", Attack::LinkLocal, 20_000, 0.0),
    case("link frames, from the LAN", Attack::FromHost, 20_000, 0.0),
];

/// Loss without a defence; without a key, from another address and from that of the other end; with a key.
#[test]
fn attacks_cost_no_frame_with_the_defence_that_is_for_them() {
    let columns = ["no defence", "no key", "peer's address", "key"];
    print!("{:32}{:>9}", "attack", "per second");
    for column in columns {
        print!("{column:>16}");
    }
    println!();
    for Case { name, attack, per_second, harm_min } in CASES {
        let ways =
            [(Defence::None, true), (Defence::NoKey, false), (Defence::NoKey, true), (Defence::Key, true)];
        let damages = ways
            .map(|(defence, spoofs)| Arena::damage(defence, &mut Intruder::new(attack, per_second, spoofs)));
        print!("{name:32}{per_second:>9} ");
        for damage in &damages {
            print!("{:>14.2} %", damage.loss_percent());
        }
        println!();
        let [none, no_key, peers_address, key] = damages;
        assert!(none.loss_percent() >= harm_min, "{name} does harm: {none:?}");
        // What an end that reads the link inserts with the next numbers replaces as many frames.
        let replaced = if attack == Attack::DataClose { Intruder::FRAMES } else { 0 };
        for damage in [no_key, key] {
            let Damage { lost, disordered, protected, .. } = damage;
            assert!(lost <= replaced && disordered == 0 && protected, "{name}: {damage:?}");
        }
        // As without protection, at worst.
        assert!(peers_address.lost <= replaced.max(arena::LOST_BY_THE_LINK_MAX), "{name}: {peers_address:?}");
    }
}

#[test]
fn flood_from_the_link_holds_up_nothing_from_the_lan() {
    let mut pair = DataPathPair::new();
    pair.activate();
    let mut intruder = Intruder::new(Attack::Garbage, 1_000_000_000, false);
    let (datapath, lan, link) = &mut pair.ends[0];
    for ns in 0..100_000 {
        link.put(&intruder.next_frame(Time::from_ns(ns)).unwrap().bytes);
    }
    for number in 0..10 {
        lan.put(&frame(number, 100));
    }
    let now = Time::ZERO + Span::from_ms(6);
    datapath.run_once(now).unwrap();
    let sent = std::iter::from_fn(|| link.next_sent()).filter(|sent| sent.len() > 100).count();
    assert_eq!(sent, 10, "one turn takes one batch from either side");
    while datapath.run_once(now).unwrap() {}
    assert!(datapath.counts().link_in > 100_000, "it takes all of them in the end");
}

/// Otherwise an intruder could make an end believe that it still protects what arrives.
#[test]
fn repeated_and_strange_data_frames_are_no_sign_of_the_other_end() {
    let mut pair = DataPathPair::new();
    pair.activate();
    let mut recorded = Vec::new();
    pair.carry_and_record(&[frame(1, 100), frame(2, 100)], &mut recorded);
    pair.run(Span::from_ms(20), &mut |_| false);
    let number = |sent: &Vec<u8>| match LinkCodec::default().parse(sent).ok()?.header {
        LinkHeader::Data { epoch, seq, .. } => Some((epoch, seq)),
        _ => None,
    };
    recorded.retain(|sent| number(sent).is_some());
    let (epoch, last) = number(&recorded[1]).unwrap();
    // From here on the other end is silent.
    let heard_at = pair.ends[1].0.heard_at();
    recorded.push(intruder::carried(&intruder::data(epoch ^ 1, last + 1)));
    for bytes in &recorded {
        pair.ends[1].2.put(bytes);
    }
    pair.run_alone(1, Span::from_ms(1), &mut |_| true);
    assert_eq!(pair.ends[1].0.heard_at(), heard_at);
    // The next number of this epoch is one.
    pair.ends[1].2.put(&intruder::carried(&intruder::data(epoch, last + 1)));
    pair.run_alone(1, Span::from_ms(1), &mut |_| true);
    assert!(pair.ends[1].0.heard_at() > heard_at);
}
