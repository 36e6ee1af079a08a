//! Random connections with trimming, loss, duplication and reordering: each message arrives once, and each
//! work request ends.

use proptest::prelude::*;
use wiremend_proto::dcp::{
    Ack, Config, Data, FlowControl, LossHints, MissingReport, Packet, Parameters, PayloadTarget,
    ReceiverProgress, RetransFetch, Tracking,
};
use wiremend_proto::engine::{Op, Status};
use wiremend_proto::rc;
use wiremend_testkit::Direction::{Backward, Forward};
use wiremend_testkit::Side::A;
use wiremend_testkit::{Pair, Protocol, Random, RandomFaults};
use wiremend_units::{Psn, QpNum, Span, Time};
use wiremend_wire::Opcode;

use super::{TIMEOUT, data, trim_ppm, with_outage};
use crate::common;

#[derive(Clone, Debug)]
struct Case {
    config: Config,
    faults: RandomFaults,
    /// Packets that switches trim, in parts per million.
    trim_ppm: u32,
    /// Start and end of a link outage.
    outage: Option<(Time, Time)>,
    seed: u64,
    /// Pause of congestion control between packets, if any.
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
    let fetch =
        (prop::sample::select(vec![0_u64, 500]), prop::sample::select(vec![1_u32, 4, 16]), any::<bool>());
    let fetch = fetch.prop_map(|(ns, batch, per_header)| RetransFetch {
        pcie_round_trip: Span::from_ns(ns),
        batch,
        per_header,
    });
    let probe = prop::option::of(prop::sample::select(vec![2_u64, 5, 20]).prop_map(Span::from_us));
    let hints = prop::option::of(
        (prop::sample::select(vec![0_u32, 4, 40]), probe)
            .prop_map(|(reorder_allowance, probe_after)| LossHints { reorder_allowance, probe_after }),
    );
    let burst = prop::sample::select(vec![1_u32, 8, 40]);
    let flow =
        prop_oneof![3 => Just(FlowControl::Window), 1 => burst.prop_map(|burst| FlowControl::Pull { burst })];
    let all = (tracking, units, unit_packets, fetch, hints, flow);
    all.prop_map(|all| {
        let (tracking, units_max, unit_packets, fetch, hints, flow) = all;
        Parameters { tracking, units_max, unit_packets, fetch, hints, flow_control: flow }
    })
}

fn cases() -> impl Strategy<Value = Case> {
    let rate = |most: u32| prop_oneof![2 => Just(0_u32), 1 => 0..most / 8, 1 => 0..most];
    let outage = prop_oneof![
        5 => Just(None),
        1 => (0_u64..20, 1_u64..300).prop_map(|(from, us)| {
            let from = Time::ZERO + Span::from_us(from);
            Some((from, from + Span::from_us(us)))
        }),
    ];
    let faults = (rate(500_000), rate(60_000), rate(100_000), rate(300_000), outage).prop_map(
        |(trim_ppm, loss_ppm, duplicate_ppm, reorder_ppm, outage)| {
            (RandomFaults { loss_ppm, duplicate_ppm, reorder_ppm }, trim_ppm, outage)
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
    (config, faults, 0..u64::MAX / 2, pace, first, works).prop_map(|all| {
        let (config, (faults, trim_ppm, outage), seed, pace, first, works) = all;
        Case { config, faults, trim_ppm, outage, seed, pace, first, works }
    })
}

fn run_case(case: &Case) -> Pair<Config> {
    let mut pair =
        Pair::new(case.config.clone()).starting_at(Psn::new(case.first)).impair(case.faults, case.seed);
    pair = trim_ppm(pair, case.trim_ppm, case.seed);
    if let Some((from, to)) = case.outage {
        pair = with_outage(pair, from, to);
    }
    if let Some(pace) = case.pace {
        pair = pair.pace(pace);
    }
    for ((op, len, imm, pause_ns), number) in case.works.iter().zip(100..) {
        pair.post(A, *op, *len, imm.then_some(number));
        pair.run_for(Span::from_ns(*pause_ns));
    }
    pair.run_until_idle();
    pair
}

fn check_case(case: &Case, pair: &Pair<Config>) -> Result<(), String> {
    pair.check()?;
    if pair.completions(A).len() != case.works.len() {
        return Err(format!("{} of {} work requests ended", pair.completions(A).len(), case.works.len()));
    }
    let faults = case.faults;
    let failed = pair.completions(A).iter().find(|done| done.status != Status::Success);
    if let Some(failed) = failed {
        let may_fail = faults.loss_ppm + faults.duplicate_ppm > 0 || case.outage.is_some();
        if failed.status != Status::RetryExceeded || !may_fail {
            return Err(format!("{failed:?} is unexpected"));
        }
    }
    let has_loss = faults.loss_ppm > 0 || case.outage.is_some();
    if !has_loss && faults.duplicate_ppm == 0 && !pair.expired().is_empty() {
        return Err("a timeout, although every packet or its header arrived".to_owned());
    }
    let probe = case.config.parameters.hints.and_then(|hints| hints.probe_after);
    let probes_late = probe.is_none_or(|quiet| quiet > ROUND_TRIP);
    let no_faults = probes_late && !has_loss && faults.duplicate_ppm + faults.reorder_ppm == 0;
    if no_faults && pair.requester(A).retransmitted_packets != pair.receiver().dcp_counters().trimmed {
        let again = pair.requester(A).retransmitted_packets;
        return Err(format!("{again} retransmissions, {} trimmed", pair.receiver().dcp_counters().trimmed));
    }
    Ok(())
}

/// An earlier probe reports packets that are still in flight.
const ROUND_TRIP: Span = Span::from_us(3);

fn runs() -> ProptestConfig {
    common::proptest_config(3000, 1914)
}

proptest! {
    #![proptest_config(runs())]

    #[test]
    fn each_message_arrives_once_and_each_work_request_ends(case in cases()) {
        let pair = run_case(&case);
        prop_assert_eq!(check_case(&case, &pair), Ok(()));
    }

}

proptest! {
    #![proptest_config(ProptestConfig { cases: runs().cases / 10, ..runs() })]

    /// Packets that no requester sends: nothing panics, and the delivered data are correct.
    #[test]
    fn operations_other_than_send_and_write_change_nothing(seed in any::<u64>(), dcp in parameters()) {
        let mut pair = Pair::new(with_parameters(dcp));
        let mut random = Random::new(seed);
        pair.post(A, Op::Send, 3000, None);
        for _ in 0..40 {
            let others = &Opcode::ALL[Opcode::ALL.iter().position(|sent| *sent == Opcode::ReadRequest).unwrap()..];
            let (opcode, psn) = (random.pick(others), Psn::new(random.draw() as u32));
            let target = PayloadTarget::Memory { address: random.draw(), key: 5 };
            let mut data = Data::new(opcode, QpNum::new(1), psn, random.below(3) as u32, random.below(2) as u8, target)
                .with_payload(random.below(300) as u16);
            data = if random.chance_ppm(300_000) { data.trimmed() } else { data };
            data = if random.chance_ppm(300_000) { data.bounced(QpNum::new(1)) } else { data };
            inject(&mut pair, Packet::Data(data));
            pair.run_for(Span::from_ns(random.below(900)));
        }
        pair.run_until_delivered();
    }

    /// Packets with altered numbers: a hostile peer can break the connection but nothing else.
    #[test]
    fn a_hostile_peer_can_only_end_the_connection(seed in any::<u64>(), dcp in parameters()) {
        let mut pair = Pair::new(with_parameters(dcp));
        let mut seen = 0;
        let mut random = Random::new(seed);
        for _ in 0..6 {
            pair.post(A, Op::Write, 1500, None);
            pair.post(A, Op::Write, 300, Some(7));
            pair.run_for(Span::from_ns(random.below(3000)));
            let sent: Vec<Data> = pair.sent(Forward)[seen..].iter().map(data).collect();
            seen += sent.len();
            for mut packet in sent {
                if random.chance_ppm(500_000) {
                    packet.psn = packet.psn.ahead(random.pick(&[1, 2, 9, 1000, 0x7F_FFFF, 0xFF_FFFF, 0xFF_FFF0]));
                    packet = if random.chance_ppm(300_000) { packet.bounced(QpNum::new(1)) } else { packet };
                    packet = if random.chance_ppm(200_000) { packet.trimmed() } else { packet };
                    inject(&mut pair, Packet::Data(packet));
                }
            }
            let is_ack = random.chance_ppm(500_000);
            let expected_unit = random.pick(&[0, 1, 5, 0xFF_FFFF, 0x7F_FFFF]);
            let ack = altered_ack(&pair, random.pick(&[0, 3, 40, 0xFF_FFFF]), expected_unit);
            let Ack { dest_qp, psn, progress, .. } = ack;
            let missing = MissingReport::new(dest_qp, psn, progress, random.draw());
            inject(&mut pair, if is_ack { Packet::Ack(ack) } else { Packet::Missing(missing) });
        }
        pair.run_until_idle();
        prop_assert_eq!(pair.completions(A).len(), 12);
    }
}

fn with_parameters(dcp: Parameters) -> Config {
    let base = rc::Config { mtu: 256, timeout: Some(TIMEOUT), window: 64, ..rc::Config::default() };
    Config { base, parameters: dcp }
}

/// Injects a packet in the direction of its destination.
fn inject(pair: &mut Pair<Config>, packet: Packet) {
    let is_response = <Config as Protocol>::is_answer(packet);
    pair.inject(if is_response { Backward } else { Forward }, packet);
}

/// The responder's last acknowledgement with altered numbers.
fn altered_ack(pair: &Pair<Config>, psn: u32, expected_unit: u32) -> Ack {
    let mut acks = pair.sent(Backward).iter().rev();
    let last = acks.find_map(|sent| if let Packet::Ack(ack) = sent.packet { Some(ack) } else { None });
    let (progress, pulls) = last.map_or((ReceiverProgress::default(), 0), |last| (last.progress, last.pulls));
    Ack {
        dest_qp: QpNum::new(1),
        psn: Psn::new(psn),
        progress: ReceiverProgress { expected_unit, ..progress },
        pulls,
    }
}
