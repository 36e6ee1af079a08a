//! A changed configuration of a running relay.
//!
//! Only what differs from the configuration before is applied, so that a reload leaves alone what an
//! operator or a monitor has changed since.

use std::path::Path;

use super::{Request, RuntimeSettings, Settings};
use crate::control::{ControlError, send_request};

/// Requests to the forwarding process that apply a new configuration.
pub(super) struct Reload(Vec<Request>);

impl Reload {
    pub(super) fn between(old: &RuntimeSettings, new: &RuntimeSettings) -> Self {
        let mut requests = Vec::new();
        let set = Request::Set {
            mode: (old.mode != new.mode).then_some(new.mode),
            classes: (old.classes != new.classes).then(|| new.classes.clone()),
            copies: (old.copies != new.copies).then_some(new.copies.unwrap_or(0)),
            target: (old.target_ppt != new.target_ppt).then_some(new.target_ppt as f64 / 1e12),
        };
        if set != (Request::Set { mode: None, classes: None, copies: None, target: None }) {
            requests.push(set);
        }
        if old.active != new.active {
            requests.push(if new.active { Request::Activate } else { Request::Deactivate });
        }
        Self(requests)
    }

    /// Sends the requests and returns their number. A repeated request has no further effect.
    pub(super) fn send(self, socket: &Path) -> Result<usize, String> {
        for request in &self.0 {
            send_request(socket, request).map(|_: super::Status| ()).map_err(|why| match why {
                ControlError::Refused(why) => why,
                ControlError::Unreachable(why) => format!("the forwarding process does not answer: {why}"),
                ControlError::InvalidResponse(why) => {
                    format!("invalid response of the forwarding process: {why}")
                }
            })?;
        }
        Ok(self.0.len())
    }
}

/// Names of the options that differ and apply only from a restart on.
pub(super) fn restart_options(old: &Settings, new: &Settings) -> Vec<&'static str> {
    let differs = [
        ("lan", old.lan != new.lan),
        ("link", old.link != new.link),
        ("rate", old.rate != new.rate),
        ("ethertype", old.codec.ethertype != new.codec.ethertype),
        ("key_file", old.key != new.key),
        ("queue", old.queue != new.queue),
        ("device_frames", old.device_frames != new.device_frames),
        ("rtt_min", old.rtt_min != new.rtt_min),
        ("give_up", old.give_up != new.give_up),
        ("port", old.port != new.port),
        ("poll", old.poll != new.poll),
        ("cpu", old.cpu != new.cpu),
        ("run_dir", old.run_dir != new.run_dir),
        ("user", old.user != new.user),
        ("metrics_listen", old.metrics != new.metrics),
        ("disable_offloads", old.disable_offloads != new.disable_offloads),
        ("allow_pfc", old.allow_pfc != new.allow_pfc),
        ("wait", old.wait != new.wait),
        ("release", old.release != new.release),
    ];
    differs.into_iter().filter_map(|(name, differs)| differs.then_some(name)).collect()
}

#[cfg(test)]
mod tests {
    use wiremend_units::{Bytes, CopyCount, LossRate};

    use super::*;
    use crate::relay::{Classifier, LinkKey, ProtectionMode};

    #[test]
    fn a_reload_asks_for_what_differs_and_names_what_needs_a_restart() {
        let old = Settings::new("eth1", "eth2");
        let requests = |new: &Settings| {
            let between =
                Reload::between(&RuntimeSettings::from_settings(&old), &RuntimeSettings::from_settings(new));
            (between.0.iter().map(ToString::to_string).collect::<Vec<_>>(), restart_options(&old, new))
        };
        assert_eq!(requests(&old), (vec![], vec![]));
        let classes = Classifier::new(vec!["pcp=3:off".parse().unwrap()], ProtectionMode::NonBlocking);
        let new = Settings {
            active: true,
            classes: classes.unwrap(),
            copies: CopyCount::Fixed(2),
            target: LossRate::from_parts_per_trillion(1_000_000),
            queue: Bytes::kib(64),
            cpu: Some(1),
            key: Some(LinkKey::new(b"a secret")),
            ..old.clone()
        };
        let asked =
            ["set mode=non-blocking class=pcp=3:off copies=2 target-loss=1e-6", "protect what is sent"];
        assert_eq!(requests(&new), (asked.map(str::to_owned).to_vec(), vec!["key_file", "queue", "cpu"]));
        let rotated = Settings { key: Some(LinkKey::new(b"another secret")), ..new.clone() };
        assert_eq!(restart_options(&new, &rotated), ["key_file"]);
        assert_eq!(
            restart_options(&new, &Settings { key: Some(LinkKey::new(b"a secret")), ..new.clone() }),
            [""; 0]
        );
    }
}
