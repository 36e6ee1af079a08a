//! Transport settings, from a scenario.

use wiremend_proto::engine::Op;
use wiremend_proto::mend::{Dummies, DummyTiming, MendConfig};
use wiremend_proto::rc;
use wiremend_scenario::{
    DummiesWhen, FirstPsn, Mend, Operation, QueuePairs, Recovery, RecoveryFamily, Scenario, Within,
};
use wiremend_units::{Psn, Span};

use super::{BuildError, congestion};
use crate::network::{Engine, HostDelay, SwitchCopyConfig, Transport};
use crate::registry::Registry;

/// Returns the settings of all connections, except those that depend on paths.
pub(super) fn transport(scenario: &Scenario, registry: &Registry) -> Result<Transport, BuildError> {
    let transport = &scenario.transport;
    let config = rc::Config {
        mtu: transport.mtu.get(),
        timeout: transport.timeout(),
        retry_count: transport.retry.get(),
        rnr_retry: transport.rnr_retry.get(),
        rnr_timer: rc::Config::default().rnr_timer,
        resend_delay: transport.resend_delay,
        // Set later: it depends on the paths.
        window: rc::Config::WINDOW_MAX,
        ack_every: transport.ack_every.get(),
        reads_max: rc::Config::default().reads_max,
        flow_control: rc::Config::default().flow_control,
        recovery: match transport.recovery.value {
            Recovery::GoBack0 => rc::Recovery::GoBackZero,
            // Other engines ignore it.
            _ => rc::Recovery::GoBackN,
        },
        mend: mend(&scenario.mend),
        acceleration: acceleration(transport),
        // Set later: it is in a file.
        profile: rc::Profile::default(),
    };
    let op = match transport.operation {
        Operation::Write => Op::Write,
        Operation::Send => Op::Send,
        Operation::Read => Op::Read,
    };
    let congestion = congestion::algorithm(transport, registry)?;
    let needs = congestion.as_ref().map(|algorithm| algorithm.needs()).unwrap_or_default();
    Ok(Transport {
        config,
        // Set later: other engines depend on the paths.
        engine: Engine::GoBack,
        op,
        coalesce_acks: transport.ack_coalescing,
        per_pair: transport.qp == QueuePairs::PerPair,
        congestion,
        needs,
        // Set later.
        longest_round_trip: Span::ZERO,
        cnp_class: transport.cnp_class.map(Within::get),
        ttl: transport.ttl.get(),
        queue_pairs: transport.queue_pairs.get(),
        frames: transport.frames,
        first_psn: match transport.first_psn {
            FirstPsn::Number(number) => Some(Psn::new(number.get())),
            FirstPsn::Random => None,
        },
        trimmable: transport.recovery.family() == RecoveryFamily::Trimming,
        repeats: repeats(&scenario.mend),
        // Set later.
        tcp: None,
        host_delay: transport.host_delay.as_ref().map(|table| Box::new(HostDelay::new(table))),
    })
}

fn acceleration(transport: &wiremend_scenario::Transport) -> rc::Acceleration {
    let Some(table) = &transport.acceleration else { return rc::Acceleration::default() };
    let usual = transport.timeout().unwrap_or(Span::ZERO) / 16;
    let adaptive = table.adaptive_retransmission.then(|| rc::AdaptiveTimeout {
        shortest: table.first_timeout.unwrap_or(usual),
        expiries_per_doubling: table.tries.get(),
    });
    rc::Acceleration { adaptive, slow_restart: table.slow_restart }
}

fn mend(mend: &Mend) -> MendConfig {
    let when = match mend.dummies_when {
        DummiesWhen::Deferred => DummyTiming::Deferred,
        DummiesWhen::AtPost => DummyTiming::AtPost,
    };
    let dummies =
        Dummies { count: mend.dummies(), timing: when, idle_time: mend.dummies_after, write_denied: false };
    let of_tail = |idle_time| Dummies { count: 1, timing: DummyTiming::TailTimeout, idle_time, ..dummies };
    MendConfig {
        dummies: mend.tail_timeout.map_or(dummies, of_tail),
        tail_copies: mend.tail_copies.get(),
        packet_copies: mend.packet_copies.get(),
        check_epsn: mend.check_epsn,
    }
}

fn repeats(mend: &Mend) -> Option<SwitchCopyConfig> {
    let (nak_copies, retransmission_copies) = (mend.nak_copies(), mend.retransmission_copies());
    let registers = mend.registers.get();
    (nak_copies + retransmission_copies > 0).then_some(SwitchCopyConfig {
        nak_copies,
        retransmission_copies,
        registers,
    })
}
