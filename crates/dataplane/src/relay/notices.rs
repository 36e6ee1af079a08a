//! Messages for the operator, each reported once.

use tracing::{info, warn};
use wiremend_wire::Malformed;

use super::{Counts, KeyMismatch};

#[expect(clippy::struct_excessive_bools, reason = "one flag per message")]
#[derive(Clone, Debug, Default)]
pub(super) struct Notices {
    sending: bool,
    receiving: bool,
    version: Option<u8>,
    last_malformed: bool,
    ethertype: Option<u16>,
    key_mismatch: Option<KeyMismatch>,
    forged: bool,
    echoed: bool,
    kernel_dropped: bool,
}

/// The state from which messages are derived.
pub(super) struct NoticeFacts<'a> {
    pub(super) lan: &'a str,
    pub(super) link: &'a str,
    pub(super) sending: bool,
    pub(super) receiving: bool,
    pub(super) counts: &'a Counts,
    pub(super) last_malformed: Option<Malformed>,
    /// `EtherType` of this end, and of the other end if it differs.
    pub(super) ethertypes: (u16, Option<u16>),
    pub(super) key_mismatch: Option<KeyMismatch>,
    pub(super) kernel_dropped: [u64; 2],
}

impl Notices {
    /// Logs changes since the last call.
    pub(super) fn report(&mut self, facts: &NoticeFacts<'_>) {
        let NoticeFacts { lan, link, .. } = *facts;
        if facts.sending != self.sending {
            self.sending = facts.sending;
            let now = if facts.sending { "is protected" } else { "is no longer protected" };
            info!(link, protected = facts.sending, "sending on `{link}` {now}");
        }
        if facts.receiving != self.receiving {
            self.receiving = facts.receiving;
            let now = if facts.receiving { "is protected" } else { "is no longer protected" };
            info!(link, protected = facts.receiving, "receiving on `{link}` {now}");
        }
        match facts.last_malformed {
            Some(Malformed::LinkVersion(version)) if self.version != Some(version) => {
                self.version = Some(version);
                let own = wiremend_wire::link::VERSION;
                warn!(
                    link,
                    "the other end of `{link}` uses version {version} of the link header, this end version {own}: no \
                     protection until both run the same release"
                );
            }
            Some(Malformed::LinkVersion(_)) | None => {}
            Some(why) if first(&mut self.last_malformed) => {
                warn!(link, "malformed link frames arrive on `{link}`: {why}");
            }
            Some(_) => {}
        }
        if let (own, Some(other)) = facts.ethertypes
            && self.ethertype != Some(other)
        {
            self.ethertype = Some(other);
            warn!(
                link,
                "the other end of `{link}` uses --ethertype {other:04x}, this end {own:04x}: no protection until both \
                 use the same"
            );
        }
        if let Some(mismatch) = facts.key_mismatch
            && self.key_mismatch != Some(mismatch)
        {
            self.key_mismatch = Some(mismatch);
            warn!(link, "`{link}`: {}", mismatch.advice());
        }
        if facts.counts.forged > 0 && first(&mut self.forged) {
            warn!(
                link,
                "link frames arrive on `{lan}` and are dropped; check whether another relay's link is on this LAN"
            );
        }
        if facts.counts.echoed > 0 && first(&mut self.echoed) {
            warn!(
                link,
                "`{link}` receives its own frames: the link is a loop, or another port has the same MAC address"
            );
        }
        if facts.kernel_dropped != [0; 2] && first(&mut self.kernel_dropped) {
            let [from_lan, from_link] = facts.kernel_dropped;
            warn!(
                link,
                from_lan,
                from_link,
                "the kernel dropped {from_lan} frames from `{lan}` and {from_link} from `{link}`: this machine is too \
                 slow or too busy"
            );
        }
    }
}

fn first(reported: &mut bool) -> bool {
    !std::mem::replace(reported, true)
}
