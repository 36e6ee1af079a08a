//! What an operator should hear of, once each.

use wiremend_wire::Malformed;

use super::Counts;

/// What was said already.
#[expect(clippy::struct_excessive_bools, reason = "each is a thing that was said or not")]
#[derive(Clone, Debug, Default)]
pub(super) struct Notices {
    sending: bool,
    receiving: bool,
    version: Option<u8>,
    misread: bool,
    forged: bool,
    echoed: bool,
    kernel_dropped: bool,
}

/// What there may be to say.
pub(super) struct Facts<'a> {
    pub(super) lan: &'a str,
    pub(super) link: &'a str,
    pub(super) sending: bool,
    pub(super) receiving: bool,
    pub(super) counts: &'a Counts,
    pub(super) misread: Option<Malformed>,
    pub(super) kernel_dropped: [u64; 2],
}

impl Notices {
    /// Says what is new.
    pub(super) fn tell(&mut self, facts: &Facts<'_>, say: &dyn Fn(&str)) {
        let Facts { lan, link, .. } = facts;
        if facts.sending != self.sending {
            self.sending = facts.sending;
            let now = if facts.sending { "is protected" } else { "is not protected any more" };
            say(&format!("what is sent on `{link}` {now}"));
        }
        if facts.receiving != self.receiving {
            self.receiving = facts.receiving;
            let now = if facts.receiving { "is protected" } else { "is not protected any more" };
            say(&format!("what arrives on `{link}` {now}"));
        }
        match facts.misread {
            Some(Malformed::LinkVersion(version)) if self.version != Some(version) => {
                self.version = Some(version);
                let own = wiremend_wire::link::VERSION;
                say(&format!(
                    "the other end of `{link}` speaks version {version} of the link header, and this one {own}: nothing is \
                     protected until both run the same release"
                ));
            }
            Some(Malformed::LinkVersion(_)) | None => {}
            Some(why) if first(&mut self.misread) => {
                say(&format!("frames that are no link frames arrive on `{link}`: {why}"));
            }
            Some(_) => {}
        }
        if facts.counts.forged > 0 && first(&mut self.forged) {
            say(&format!(
                "link frames arrive on `{lan}`, the side of hosts, and are dropped: is another relay's link on this LAN?"
            ));
        }
        if facts.counts.echoed > 0 && first(&mut self.echoed) {
            say(&format!(
                "`{link}` hears its own frames: the link is a loop, or another port has the same MAC address"
            ));
        }
        if facts.kernel_dropped != [0; 2] && first(&mut self.kernel_dropped) {
            let [from_lan, from_link] = facts.kernel_dropped;
            say(&format!(
                "the kernel had no room for {from_lan} frames of `{lan}` and {from_link} of `{link}`: this machine is too slow \
                 or too busy"
            ));
        }
    }
}

fn first(said: &mut bool) -> bool {
    !std::mem::replace(said, true)
}
