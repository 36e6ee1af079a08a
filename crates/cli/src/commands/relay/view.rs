//! The status of a relay as text.

use std::fmt::Write as _;

use wiremend_dataplane::relay::{Class, ProtectionMode, Status};
use wiremend_report::human;
use wiremend_report::terminal::Terminal;

/// Renders the status. With an earlier status and the seconds since, it adds columns of rates per second.
pub(super) fn text(status: &Status, before: Option<(&Status, f64)>, terminal: Terminal) -> String {
    let mut view = View { text: String::new(), terminal };
    view.head(status);
    view.directions(status);
    view.classes(&status.classes);
    view.traffic(status, before);
    view.recovery(status);
    view.buffers(status);
    view.drops(status);
    view.warnings(status);
    view.text
}

struct View {
    text: String,
    terminal: Terminal,
}

const LABEL_CHARS: usize = 12;

impl View {
    fn head(&mut self, status: &Status) {
        let title = format!("relay between {} (LAN) and {} (link)", status.lan, status.link);
        let title = self.painted(&title, "1");
        let age = age(status.uptime_s);
        let _ = writeln!(self.text, "{title}, running for {age} as process {}\n", status.pid);
    }

    fn directions(&mut self, status: &Status) {
        let order = mode_text(status.mode);
        let (sending, colour) = match (status.sending, status.wanted, status.protection_level.as_str()) {
            (true, _, "pass-through") => {
                ("passed through: the loss is too high for protection".to_owned(), "33")
            }
            (true, _, "non-blocking")
                if status.classes.iter().any(|class| class.protection == ProtectionMode::Ordered) =>
            {
                ("protected, but not in order: the loss is too high".to_owned(), "33")
            }
            (true, ..) if status.classes.len() > 1 => ("protected, by class".to_owned(), "32"),
            (true, ..) => (format!("protected, {order}"), "32"),
            (false, true, _) => {
                ("not protected: no response from the other end; the kernel forwards".to_owned(), "33")
            }
            (false, false, _) => ("dormant: the kernel forwards".to_owned(), "2"),
        };
        let sending = self.painted(&sending, colour);
        self.line("sending", &sending);
        let receiving = if status.receiving {
            self.painted("protected", "32")
        } else {
            self.painted("dormant: the other end does not protect", "2")
        };
        self.line("receiving", &receiving);
        let mut link = vec![human::rate_bps(status.rate_bits_per_s as f64)];
        link.extend(status.rtt_ns.map(|ns| format!("round trip {}", human::time_ns(ns as f64))));
        if let Some(loss) = status.loss {
            link.push(format!("loss {} %", human::percent(loss)));
        }
        link.push(match status.copies {
            1 => "1 copy per retransmission".to_owned(),
            copies => format!("{copies} copies per retransmission"),
        });
        self.line("link", &link.join(", "));
        match &status.peer_address {
            _ if status.keyed => self.line("other end", "has the key"),
            Some(address) => self.line("other end", address),
            None => {}
        }
        let without = [(&status.lan, status.carrier[0]), (&status.link, status.carrier[1])];
        for (name, _) in without.into_iter().filter(|(_, carrier)| !carrier) {
            let text = self.painted(&format!("{name} has no carrier"), "31");
            self.line("carrier", &text);
        }
    }

    /// Traffic from the LAN by class, if there are classes.
    fn classes(&mut self, classes: &[Class]) {
        if classes.len() < 2 {
            return;
        }
        for (at, Class { class, protection, counts }) in classes.iter().enumerate() {
            let (frames, bytes) = (human::count(counts.frames), human::bytes(counts.bytes as f64));
            let mut text = format!("{class:12} {:30} {frames} frames, {bytes}", mode_text(*protection));
            if counts.dropped > 0 {
                let _ = write!(text, ", {} dropped", human::count(counts.dropped));
            }
            self.line(if at == 0 { "classes" } else { "" }, &text);
        }
    }

    fn traffic(&mut self, status: &Status, before: Option<(&Status, f64)>) {
        let _ = writeln!(self.text);
        let counts = |status: &Status| {
            let (counts, end) = (status.counts, &status.link_counts);
            let count = |key: &str| end.get(key).copied().unwrap_or_default();
            [
                ("frames carried", Some(counts.link_out), Some(counts.link_in), false),
                ("bytes carried", Some(counts.link_out_bytes), Some(counts.link_in_bytes), true),
                ("protected", Some(count("protected")), None, false),
                ("retransmitted", Some(count("resent")), None, false),
                ("missing", None, Some(count("missed")), false),
                ("recovered", None, Some(count("recovered")), false),
                ("not recovered", None, Some(count("lost")), false),
                ("unknown outcome", Some(count("abandoned")), None, false),
                ("by the kernel", Some(status.kernel_forwarded[0]), Some(status.kernel_forwarded[1]), false),
            ]
        };
        let seconds = before.map_or(1.0, |(_, seconds)| seconds.max(1e-3));
        let earlier = before.map(|(status, _)| counts(status));
        let heading = if before.is_some() {
            format!(
                "{:16}{:>16}{:>14}{:>18}{:>14}",
                "", "to the link", "per second", "from the link", "per second"
            )
        } else {
            format!("{:16}{:>16}{:>18}", "", "to the link", "from the link")
        };
        let heading = self.painted(&heading, "1");
        let _ = writeln!(self.text, "{}", heading.trim_end());
        for (at, (name, sent, came, is_bytes)) in counts(status).into_iter().enumerate() {
            let mut line = format!("{name:16}");
            let was = earlier.as_ref().map(|rows| (rows[at].1, rows[at].2));
            for (now, was, width) in [(sent, was.map(|was| was.0), 16), (came, was.map(|was| was.1), 18)] {
                let _ = write!(line, "{:>width$}", shown(now, is_bytes));
                if let Some(was) = was {
                    let grown = now.zip(was).map(|(now, was)| now.saturating_sub(was) as f64 / seconds);
                    let _ = write!(
                        line,
                        "{:>14}",
                        grown.map_or_else(|| "–".to_owned(), |grown| rate_text(grown, is_bytes))
                    );
                }
            }
            let _ = writeln!(self.text, "{}", line.trim_end());
        }
        let _ = writeln!(self.text);
    }

    fn recovery(&mut self, status: &Status) {
        let recovery = &status.recovery;
        let (Some(p50), Some(p99)) = (recovery.p50_ns, recovery.p99_ns) else {
            return self.line("recovery", "no loss yet");
        };
        let [p50, p99, max] = [p50, p99, recovery.max_ns].map(|ns| human::time_ns(ns as f64));
        let count = human::count(recovery.count);
        self.line("recovery", &format!("p50 {p50}, p99 {p99}, max {max}, of {count} frames"));
    }

    fn buffers(&mut self, status: &Status) {
        let most = |key: &str| status.link_counts.get(key).copied().unwrap_or_default();
        let bytes = |now: u64, most: u64| {
            format!("{} ({} at most)", human::bytes(now as f64), human::bytes(most as f64))
        };
        let counts = &status.counts;
        let kept = bytes(status.tx_buffer_bytes, most("tx_bytes_max"));
        let held = bytes(status.rx_buffer_bytes, most("rx_bytes_max"));
        self.line("queue", &bytes(counts.queue_bytes, counts.queue_bytes_max));
        self.line("buffers", &format!("{kept} not acknowledged yet, {held} out of order"));
        let (frames, pauses) = (human::count(status.pool_used), human::count(most("pauses")));
        self.line("memory", &format!("{frames} frames; pauses sent to the other end: {pauses}"));
    }

    /// Where frames were dropped on this machine, which is not what the link lost.
    fn drops(&mut self, status: &Status) {
        let counts = &status.counts;
        let end = |key: &str| status.link_counts.get(key).copied().unwrap_or_default();
        let places = [
            ("queue to the link full", counts.queue_dropped),
            ("link frames from the LAN", counts.forged),
            ("own frames that came back", counts.echoed),
            ("malformed", counts.malformed),
            ("too short or too long", counts.bad_length),
            ("no memory", counts.pool_empty),
            ("LAN full", counts.lan_refused),
            ("refused by an interface", counts.port_errors),
            ("reorder buffer full", end("overflowed")),
            ("control frames from another address", counts.foreign_address),
            ("control frames without a seal", counts.no_seal),
            ("control frames with a wrong seal", counts.wrong_seal),
            ("control frames with an old seal", counts.old_seal),
            ("too many link-local frames", counts.link_local_excess),
            ("checksum or segments of a tunnel", counts.unfinished),
            ("at a change between kernel and relay", status.handover_lost),
            ("kernel, from the LAN", status.kernel_dropped[0]),
            ("kernel, from the link", status.kernel_dropped[1]),
            ("forwarded to a port that was down", status.kernel_redirect_failed.iter().sum()),
        ];
        let some: Vec<_> = places
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .map(|(place, count)| format!("{place} {}", human::count(count)))
            .collect();
        if some.is_empty() {
            return self.line("dropped here", "nothing");
        }
        for (at, place) in some.iter().enumerate() {
            self.line(if at == 0 { "dropped here" } else { "" }, place);
        }
    }

    fn warnings(&mut self, status: &Status) {
        let mut warnings = Vec::new();
        if let Some(version) = status.peer_version {
            warnings.push(format!(
                "the other end uses version {version} of the link header: run the same release at both ends"
            ));
        } else if let Some(why) = &status.malformed_because {
            warnings.push(format!("malformed link frames arrive on {}: {why}", status.link));
        }
        if let Some(why) = &status.held_back {
            warnings.push(why.clone());
        }
        if let Some(ethertype) = status.peer_ethertype {
            warnings
                .push(format!("the other end uses --ethertype {ethertype:04x}: use the same at both ends"));
        }
        if let Some(mismatch) = status.key_mismatch {
            warnings.push(mismatch.advice().to_owned());
        }
        if status.counts.forged > 0 {
            warnings.push(format!(
                "link frames arrive on {}; check whether another relay's link is on this LAN",
                status.lan
            ));
        }
        if status.counts.echoed > 0 {
            warnings.push(format!(
                "{} receives its own frames: the link is a loop, or another port has its MAC address",
                status.link
            ));
        }
        for warning in warnings {
            let warning = self.painted(&format!("! {warning}"), "33");
            let _ = writeln!(self.text, "\n{warning}");
        }
    }

    fn line(&mut self, label: &str, text: &str) {
        let _ = writeln!(self.text, "{label:LABEL_CHARS$}  {text}");
    }

    fn painted(&self, text: &str, code: &str) -> String {
        if self.terminal.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

fn mode_text(protection: ProtectionMode) -> &'static str {
    match protection {
        ProtectionMode::Ordered => "in order",
        ProtectionMode::NonBlocking => "non-blocking",
        ProtectionMode::Off => "not protected",
    }
}

fn shown(count: Option<u64>, is_bytes: bool) -> String {
    match count {
        None => "–".to_owned(),
        Some(count) if is_bytes => human::bytes(count as f64),
        Some(count) => human::count(count),
    }
}

fn rate_text(per_second: f64, is_bytes: bool) -> String {
    if is_bytes { human::rate_bps(per_second * 8.0) } else { human::count(per_second.round() as u64) }
}

fn age(seconds: f64) -> String {
    let seconds = seconds as u64;
    match (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, minutes) => format!("{minutes} min {} s", seconds % 60),
        (0, hours, minutes) => format!("{hours} h {minutes} min"),
        (days, hours, _) => format!("{days} d {hours} h"),
    }
}
