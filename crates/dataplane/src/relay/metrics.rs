//! How a relay looks to Prometheus: the text that is scraped (exposition format 0.0.4).
//!
//! Base units, `_total` for what only grows, and the label `device`: the interface that a number is about, which for the relay as a
//! whole is that of the link.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::metrics::Exposition;

use super::{Care, Class, Recovery, Request, Settings, Status};
use crate::control::ask;

/// The text for a relay that answered, or for one that does not (`None`) on the link `device`.
pub fn text(version: &str, device: &str, restarts: u64, status: Option<&Status>) -> String {
    let mut page = Page(Exposition::new());
    page.family("wiremend_build_info", "The program that answers.");
    page.row("wiremend_build_info", &[("version", version)], 1);
    page.one("up", "Whether the process that carries frames answers.", device, u8::from(status.is_some()));
    page.one("restarts_total", "Processes that were started because one had died.", device, restarts);
    if let Some(status) = status {
        page.stance(status);
        page.ports(status);
        page.classes(&status.lan, &status.classes);
        page.drops(status);
        page.link_counts(status);
        page.buffers(status);
        page.recovery(&status.link, &status.recovery);
    }
    page.0.finish()
}

/// How the relay of these settings looks, asked anew each time, as anybody else would ask it.
pub(super) fn page(
    settings: &Settings,
    restarts: Arc<AtomicU64>,
) -> impl Fn() -> String + Send + Sync + use<> {
    let (socket, device, version) = (settings.socket(), settings.link.clone(), settings.version.clone());
    move || {
        let status: Option<Status> = ask(&socket, &Request::Status).ok();
        text(&version, &device, restarts.load(Ordering::Relaxed), status.as_ref())
    }
}

/// Edges of the histogram, as powers of two of a nanosecond: 1 µs to 2 s.
const EDGE_BITS: std::ops::RangeInclusive<u32> = 10..=31;

struct Page(Exposition);

impl Page {
    fn stance(&mut self, status: &Status) {
        let device = &status.link;
        let gauges = [
            ("protection_wanted", "Whether what is sent is to be protected.", u8::from(status.wanted)),
            ("sending_protected", "Whether what is sent is protected.", u8::from(status.sending)),
            ("receiving_protected", "Whether what arrives is protected.", u8::from(status.receiving)),
            ("ordered", "Whether frames keep their order.", u8::from(status.mode == Care::Ordered)),
            ("copies", "Copies of each frame that is asked for.", status.copies),
        ];
        for (name, help, value) in gauges {
            self.one(name, help, device, value);
        }
        self.one("uptime_seconds", "Age of the process that carries frames.", device, status.uptime_s);
        let rate = status.rate_bits_per_s as f64 / 8.0;
        self.one("link_rate_bytes_per_second", "How fast the link is taken to be.", device, rate);
        if let Some(rtt) = status.rtt_ns {
            let help = "Round trip of the link, as both ends agreed upon it.";
            self.one("round_trip_seconds", help, device, seconds(rtt));
        }
        if let Some(loss) = status.loss {
            self.one("loss_ratio", "Share of sent frames that the link loses, as measured.", device, loss);
        }
    }

    fn ports(&mut self, status: &Status) {
        let counts = &status.counts;
        let both = [&status.lan, &status.link];
        let rows = [
            (
                "receive_frames_total",
                "Frames that the relay took from an interface.",
                [counts.lan_in, counts.link_in],
            ),
            (
                "receive_bytes_total",
                "Bytes that the relay took.",
                [counts.lan_in_bytes, counts.link_in_bytes],
            ),
            ("transmit_frames_total", "Frames that the relay sent.", [counts.lan_out, counts.link_out]),
            (
                "transmit_bytes_total",
                "Bytes that the relay sent.",
                [counts.lan_out_bytes, counts.link_out_bytes],
            ),
            (
                "kernel_forwarded_frames_total",
                "Frames from an interface that the kernel forwarded since protection last ended.",
                status.kernel_forwarded,
            ),
        ];
        for (name, help, values) in rows {
            self.each(name, help, both, values);
        }
        self.each("carrier", "Whether an interface has a carrier.", both, status.carrier.map(u8::from));
    }

    fn classes(&mut self, device: &str, classes: &[Class]) {
        let families = [
            ("class_frames_total", "Frames from the LAN by class."),
            ("class_bytes_total", "Bytes from the LAN by class."),
            ("class_dropped_frames_total", "Frames from the LAN that found no room, by class."),
        ];
        for (at, (name, help)) in families.into_iter().enumerate() {
            let name = format!("wiremend_relay_{name}");
            self.family(&name, help);
            for Class { class, care, counts } in classes {
                let labels = [("device", device), ("class", class), ("protection", care.name())];
                self.row(&name, &labels, [counts.frames, counts.bytes, counts.dropped][at]);
            }
        }
    }

    fn drops(&mut self, status: &Status) {
        let counts = &status.counts;
        let (lan, link) = (&status.lan, &status.link);
        let [kernel_lan, kernel_link] = status.kernel_dropped;
        let [untaken_lan, untaken_link] = status.kernel_untaken;
        self.family(
            "wiremend_relay_dropped_frames_total",
            "Frames that this machine dropped, by reason; what the link loses is missed_frames.",
        );
        let rows = [
            (lan, "queue_full", counts.queue_dropped),
            (lan, "forged", counts.forged),
            (link, "echoed", counts.echoed),
            (link, "malformed", counts.malformed),
            (link, "misshapen", counts.misshapen),
            (link, "memory", counts.pool_empty),
            (link, "lan_full", counts.lan_refused),
            (link, "port_error", counts.port_errors),
            (lan, "kernel", kernel_lan),
            (link, "kernel", kernel_link),
            (lan, "kernel_untaken", untaken_lan),
            (link, "kernel_untaken", untaken_link),
        ];
        for (device, reason, value) in rows {
            self.row("wiremend_relay_dropped_frames_total", &[("device", device), ("reason", reason)], value);
        }
    }

    fn link_counts(&mut self, status: &Status) {
        for (key, value) in &status.link_counts {
            let Some((name, help)) = link_count(key) else { continue };
            self.one(name, help, &status.link, *value);
        }
    }

    fn buffers(&mut self, status: &Status) {
        let most = |key: &str| status.link_counts.get(key).copied().unwrap_or_default();
        let rows = [
            ("resend", status.tx_buffer_bytes, most("tx_bytes_max")),
            ("reorder", status.rx_buffer_bytes, most("rx_bytes_max")),
            ("queue", status.counts.queue_bytes, status.counts.queue_bytes_max),
        ];
        let families = [
            (
                "wiremend_relay_buffer_bytes",
                "Bytes that wait: for the other end's word, for an earlier frame, for the link.",
            ),
            ("wiremend_relay_buffer_highest_bytes", "The most bytes that waited at once."),
        ];
        for (at, (name, help)) in families.into_iter().enumerate() {
            self.family(name, help);
            for (buffer, now, most) in rows {
                let labels = [("device", status.link.as_str()), ("buffer", buffer)];
                self.row(name, &labels, [now, most][at]);
            }
        }
        self.one("frames_in_memory", "Frames that wait anywhere.", &status.link, status.pool_used);
    }

    fn recovery(&mut self, device: &str, recovery: &Recovery) {
        const NAME: &str = "wiremend_relay_recovery_delay_seconds";
        self.0.histogram(NAME, "From a gap that was seen to the frame that filled it.");
        let bucket = format!("{NAME}_bucket");
        for bits in EDGE_BITS {
            let edge = 1_u64 << bits;
            let within = recovery.buckets.iter().filter(|(upper, _)| *upper <= edge);
            let count: u64 = within.map(|(_, count)| count).sum();
            self.row(&bucket, &[("device", device), ("le", &seconds(edge).to_string())], count);
        }
        self.row(&bucket, &[("device", device), ("le", "+Inf")], recovery.count);
        self.row(&format!("{NAME}_sum"), &[("device", device)], seconds(recovery.sum_ns));
        self.row(&format!("{NAME}_count"), &[("device", device)], recovery.count);
    }

    /// A family with one row.
    fn one(&mut self, name: &str, help: &str, device: &str, value: impl fmt::Display) {
        let name = format!("wiremend_relay_{name}");
        self.family(&name, help);
        self.row(&name, &[("device", device)], value);
    }

    /// A family with a row for each interface.
    fn each<V: fmt::Display>(&mut self, name: &str, help: &str, devices: [&String; 2], values: [V; 2]) {
        let name = format!("wiremend_relay_{name}");
        self.family(&name, help);
        for (device, value) in devices.into_iter().zip(values) {
            self.row(&name, &[("device", device)], value);
        }
    }

    fn family(&mut self, name: &str, help: &str) {
        self.0.family(name, help);
    }

    fn row(&mut self, name: &str, labels: &[(&str, &str)], value: impl fmt::Display) {
        self.0.row(name, labels, value);
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// The name and meaning of what an end of the link counts; highest levels are elsewhere.
fn link_count(key: &str) -> Option<(&'static str, &'static str)> {
    Some(match key {
        "protected" => ("protected_frames_total", "Frames that were sent with a number."),
        "resent" => ("resent_frames_total", "Copies that were sent again."),
        "dummies" => ("dummy_frames_total", "Frames that were sent to show the other end what it lacks."),
        "unkept" => {
            ("unkept_frames_total", "Frames that were sent without a copy, because the buffer was full.")
        }
        "refused" => ("refused_requests_total", "Requests of the other end that could not be met."),
        "reopened" => ("reopened_total", "Times that protection had to begin anew."),
        "abandoned" => ("abandoned_frames_total", "Frames of which nobody knows what became of them."),
        "fallbacks" => ("fallbacks_total", "Steps down, because too much is lost."),
        "missed" => ("missed_frames_total", "Frames that the link lost on their way here."),
        "recovered" => ("recovered_frames_total", "Frames that the link lost and the relay got back."),
        "lost" => ("lost_frames_total", "Frames that the link lost for good."),
        "duplicates" => ("duplicate_frames_total", "Copies that were not needed."),
        "overflowed" => ("overflowed_frames_total", "Frames for which the reordering buffer had no room."),
        "notifications" => ("notifications_total", "Notifications of loss that were sent."),
        "renotifications" => ("renotifications_total", "Notifications because nothing came of those before."),
        "acks" => ("ack_frames_total", "Frames that were sent for an acknowledgement alone."),
        "pauses" => ("pauses_total", "Times that the other end was asked to pause."),
        "ignored" => ("ignored_signals_total", "Signals of another epoch, or that cannot be."),
        _ => return None,
    })
}
