//! Random connections: whatever is cut, lost, doubled or overtaken, each message arrives once, and each work ends.

use proptest::prelude::*;
use wiremend_proto::dcp::{
    Ack, Config, Data, Fetch, Flow, Hints, Missing, Packet, Parameters, Progress, Target, Tracking,
};
use wiremend_proto::engine::{Op, Status};
use wiremend_proto::rc;
use wiremend_testkit::Direction::{Backward, Forward};
use wiremend_testkit::Side::A;
use wiremend_testkit::{Dice, Luck, Pair, Protocol};
use wiremend_units::{Psn, QpNum, Span, Time};
use wiremend_wire::Opcode;

use super::{TIMEOUT, cut_ppm, dark, data};
use crate::common;

#[derive(Clone, Debug)]
struct Story {
    config: Config,
    luck: Luck,
    /// Packets that switches cut, in a million.
    cut_ppm: u32,
    /// The link is gone in this time.
    dark: Option<(Time, Time)>,
    seed: u64,
    /// Congestion control keeps packets back for so long, if it does.
    pace: Option<Span>,
    first: u32,
    works: Vec<(Op, u32, bool, u64)>,
}

fn parameters() -> impl Strategy<Value = Parameters> {
    let bits = prop::sample::select(vec![1_u32, 7, 64, 100, 1000]);
    let tracking = prop_oneof![
        2 => Just(Tracking::Sums),
        1 => bits.clone().prop_map(|packets| Tracking::Bitmap { packets }),
        1 => bits.prop_map(|packets| Tracking::Chunks { packets }),
    ];
    let units = prop::sample::select(vec![1_u32, 3, 16, 64]);
    let unit_packets = prop::sample::select(vec![1_u32, 4, 16, Parameters::WHOLE_MESSAGES]);
    let fetch = (prop::sample::select(vec![0_u64, 500]), prop::sample::select(vec![1_u32, 4, 16]))
        .prop_map(|(ns, batch)| Fetch { round_trip: Span::from_ns(ns), batch });
    let probe = prop::option::of(prop::sample::select(vec![2_u64, 5, 20]).prop_map(Span::from_us));
    let hints = prop::option::of(
        (prop::sample::select(vec![0_u32, 4, 40]), probe)
            .prop_map(|(allowance, probe_after)| Hints { allowance, probe_after }),
    );
    let burst = prop::sample::select(vec![1_u32, 8, 40]);
    let flow = prop_oneof![3 => Just(Flow::Window), 1 => burst.prop_map(|burst| Flow::Pull { burst })];
    let all = (tracking, units, unit_packets, fetch, hints, flow);
    all.prop_map(|all| {
        let (tracking, units_max, unit_packets, fetch, hints, flow) = all;
        Parameters { tracking, units_max, unit_packets, fetch, hints, flow }
    })
}

fn stories() -> impl Strategy<Value = Story> {
    let rate = |most: u32| prop_oneof![2 => Just(0_u32), 1 => 0..most / 8, 1 => 0..most];
    let dark = prop_oneof![
        5 => Just(None),
        1 => (0_u64..20, 1_u64..300).prop_map(|(from, us)| {
            let from = Time::ZERO + Span::from_us(from);
            Some((from, from + Span::from_us(us)))
        }),
    ];
    let luck = (rate(500_000), rate(60_000), rate(100_000), rate(300_000), dark).prop_map(
        |(cut_ppm, loss_ppm, duplicate_ppm, reorder_ppm, dark)| {
            (Luck { loss_ppm, duplicate_ppm, reorder_ppm }, cut_ppm, dark)
        },
    );
    let config = (
        parameters(),
        prop::sample::select(vec![1_u32, 2, 9, 64, rc::Config::WINDOW_MAX]),
        prop::sample::select(vec![1_u32, 3, 64]),
    )
        .prop_map(|(parameters, window, ack_every)| {
            let base =
                rc::Config { mtu: 256, timeout: Some(TIMEOUT), window, ack_every, ..rc::Config::default() };
            Config { base, parameters }
        });
    let first = prop_oneof![Just(0_u32), 0xFF_FFC0_u32..=0xFF_FFFF, 0x7F_FFC0_u32..0x80_0010];
    let len = prop_oneof![Just(0_u32), 1_u32..600, prop::sample::select(vec![256, 512, 2560]), 1_u32..9_000];
    let op = prop::sample::select(vec![Op::Send, Op::Write]);
    let pause = prop_oneof![4 => Just(0_u64), 1 => 0_u64..60_000];
    let works = prop::collection::vec((op, len, any::<bool>(), pause), 1..12);
    let pace = prop_oneof![3 => Just(None), 1 => (1_u64..3_000).prop_map(|us| Some(Span::from_us(us)))];
    (config, luck, 0..u64::MAX / 2, pace, first, works).prop_map(|all| {
        let (config, (luck, cut_ppm, dark), seed, pace, first, works) = all;
        Story { config, luck, cut_ppm, dark, seed, pace, first, works }
    })
}

fn play(story: &Story) -> Pair<Config> {
    let mut pair =
        Pair::new(story.config.clone()).starting_at(Psn::new(story.first)).impair(story.luck, story.seed);
    pair = cut_ppm(pair, story.cut_ppm, story.seed);
    if let Some((from, to)) = story.dark {
        pair = dark(pair, from, to);
    }
    if let Some(pace) = story.pace {
        pair = pair.pace(pace);
    }
    for ((op, len, imm, pause_ns), number) in story.works.iter().zip(100..) {
        pair.post(A, *op, *len, imm.then_some(number));
        pair.run_for(Span::from_ns(*pause_ns));
    }
    pair.run_until_idle();
    pair
}

fn judge(story: &Story, pair: &Pair<Config>) -> Result<(), String> {
    pair.check()?;
    if pair.completions(A).len() != story.works.len() {
        return Err(format!("{} of {} works ended", pair.completions(A).len(), story.works.len()));
    }
    let luck = story.luck;
    let failed = pair.completions(A).iter().find(|done| done.status != Status::Success);
    if let Some(failed) = failed {
        let excused = luck.loss_ppm + luck.duplicate_ppm > 0 || story.dark.is_some();
        if failed.status != Status::RetryExceeded || !excused {
            return Err(format!("{failed:?} has no reason"));
        }
    }
    let vanishes = luck.loss_ppm > 0 || story.dark.is_some();
    if !vanishes && luck.duplicate_ppm == 0 && !pair.expired().is_empty() {
        return Err("a timeout, although every packet or its header came".to_owned());
    }
    let probe = story.config.parameters.hints.and_then(|hints| hints.probe_after);
    let patient = probe.is_none_or(|quiet| quiet > ROUND_TRIP);
    let calm = patient && !vanishes && luck.duplicate_ppm + luck.reorder_ppm == 0;
    if calm && pair.requester(A).retransmitted_packets != pair.receiver().seen().cut {
        let again = pair.requester(A).retransmitted_packets;
        return Err(format!("{again} packets sent again, {} cut", pair.receiver().seen().cut));
    }
    Ok(())
}

/// Who asks sooner hears of packets that are still under way.
const ROUND_TRIP: Span = Span::from_us(3);

fn runs() -> ProptestConfig {
    common::stories(3000, 1914)
}

proptest! {
    #![proptest_config(runs())]

    #[test]
    fn each_message_arrives_once_and_each_work_ends(story in stories()) {
        let pair = play(&story);
        prop_assert_eq!(judge(&story, &pair), Ok(()));
    }

}

proptest! {
    #![proptest_config(ProptestConfig { cases: runs().cases / 10, ..runs() })]

    /// Packets that no requester sends: nothing panics, and what is delivered is right.
    #[test]
    fn operations_other_than_send_and_write_change_nothing(seed in any::<u64>(), dcp in parameters()) {
        let mut pair = Pair::new(open_to(dcp));
        let mut dice = Dice::new(seed);
        pair.post(A, Op::Send, 3000, None);
        for _ in 0..40 {
            let others = &Opcode::ALL[Opcode::ALL.iter().position(|of| *of == Opcode::ReadRequest).unwrap()..];
            let (opcode, psn) = (dice.pick(others), Psn::new(dice.throw() as u32));
            let place = Target::Memory { address: dice.throw(), key: 5 };
            let mut data = Data::new(opcode, QpNum::new(1), psn, dice.below(3) as u32, dice.below(2) as u8, place)
                .with_payload(dice.below(300) as u16);
            data = if dice.chance_ppm(300_000) { data.trimmed() } else { data };
            data = if dice.chance_ppm(300_000) { data.bounced(QpNum::new(1)) } else { data };
            inject(&mut pair, Packet::Data(data));
            pair.run_for(Span::from_ns(dice.below(900)));
        }
        pair.run_until_delivered();
    }

    /// Own packets with other numbers: a peer that lies can spoil the connection, but not the machine.
    #[test]
    fn a_peer_that_lies_gets_nothing_but_an_end(seed in any::<u64>(), dcp in parameters()) {
        let mut pair = Pair::new(open_to(dcp));
        let mut told = 0;
        let mut dice = Dice::new(seed);
        for _ in 0..6 {
            pair.post(A, Op::Write, 1500, None);
            pair.post(A, Op::Write, 300, Some(7));
            pair.run_for(Span::from_ns(dice.below(3000)));
            let sent: Vec<Data> = pair.sent(Forward)[told..].iter().map(data).collect();
            told += sent.len();
            for mut packet in sent {
                if dice.chance_ppm(500_000) {
                    packet.psn = packet.psn.ahead(dice.pick(&[1, 2, 9, 1000, 0x7F_FFFF, 0xFF_FFFF, 0xFF_FFF0]));
                    packet = if dice.chance_ppm(300_000) { packet.bounced(QpNum::new(1)) } else { packet };
                    packet = if dice.chance_ppm(200_000) { packet.trimmed() } else { packet };
                    inject(&mut pair, Packet::Data(packet));
                }
            }
            let is_ack = dice.chance_ppm(500_000);
            let expected_unit = dice.pick(&[0, 1, 5, 0xFF_FFFF, 0x7F_FFFF]);
            let lie = lie(&pair, dice.pick(&[0, 3, 40, 0xFF_FFFF]), expected_unit);
            let Ack { dest_qp, psn, progress, .. } = lie;
            let missing = Missing::new(dest_qp, psn, progress, dice.throw());
            inject(&mut pair, if is_ack { Packet::Ack(lie) } else { Packet::Missing(missing) });
        }
        pair.run_until_idle();
        prop_assert_eq!(pair.completions(A).len(), 12);
    }
}

fn open_to(dcp: Parameters) -> Config {
    let base = rc::Config { mtu: 256, timeout: Some(TIMEOUT), window: 64, ..rc::Config::default() };
    Config { base, parameters: dcp }
}

/// To the end that it is for.
fn inject(pair: &mut Pair<Config>, packet: Packet) {
    let is_answer = <Config as Protocol>::is_answer(packet);
    pair.inject(if is_answer { Backward } else { Forward }, packet);
}

/// The responder's last acknowledgement with other numbers in it.
fn lie(pair: &Pair<Config>, psn: u32, expected_unit: u32) -> Ack {
    let mut acks = pair.sent(Backward).iter().rev();
    let last = acks.find_map(|of| if let Packet::Ack(ack) = of.packet { Some(ack) } else { None });
    let (progress, pulls) = last.map_or((Progress::default(), 0), |last| (last.progress, last.pulls));
    Ack {
        dest_qp: QpNum::new(1),
        psn: Psn::new(psn),
        progress: Progress { expected_unit, ..progress },
        pulls,
    }
}
