//! Prometheus metrics of a relay (text exposition format 0.0.4).
//!
//! Names use base units and the suffix `_total` for counters. The label `device` names the interface; metrics
//! of the whole relay have the link interface.

use std::fmt;

use crate::metrics::Exposition;

use super::{Class, ProtectionMode, Recovery, Status};

/// Renders the metrics of the relay on the link `device`. `status` is `None` if the relay does not answer.
pub fn text(version: &str, device: &str, restarts: u64, status: Option<&Status>) -> String {
    let mut page = Page(Exposition::new());
    page.family("wiremend_build_info", "Version of the program.");
    page.row("wiremend_build_info", &[("version", version)], 1);
    page.one("up", "Whether the forwarding process answers.", device, u8::from(status.is_some()));
    page.one("restarts_total", "Restarts of the forwarding process.", device, restarts);
    if let Some(status) = status {
        page.protection(status);
        page.ports(status);
        page.classes(&status.lan, &status.classes);
        page.drops(status);
        page.link_counts(status);
        page.buffers(status);
        page.recovery(&status.link, &status.recovery);
    }
    page.0.finish()
}

/// Bucket edges of the histogram, as powers of two in nanoseconds: 1 µs to 2 s.
const EDGE_BITS: std::ops::RangeInclusive<u32> = 10..=31;

struct Page(Exposition);

impl Page {
    fn protection(&mut self, status: &Status) {
        let device = &status.link;
        let gauges = [
            ("protection_wanted", "Whether protection of sending is switched on.", u8::from(status.wanted)),
            ("sending_protected", "Whether sending is protected.", u8::from(status.sending)),
            ("receiving_protected", "Whether receiving is protected.", u8::from(status.receiving)),
            (
                "ordered",
                "Whether frames outside of classes keep their order.",
                u8::from(status.mode == ProtectionMode::Ordered),
            ),
            ("copies", "Copies of each retransmitted frame.", status.copies),
        ];
        for (name, help, value) in gauges {
            self.one(name, help, device, value);
        }
        self.one("uptime_seconds", "Age of the forwarding process.", device, status.uptime_s);
        let rate = status.rate_bits_per_s as f64 / 8.0;
        self.one("link_rate_bytes_per_second", "Configured rate of the link.", device, rate);
        if let Some(rtt) = status.rtt_ns {
            let help = "Round trip time of the link, as both ends agreed.";
            self.one("round_trip_seconds", help, device, seconds(rtt));
        }
        if let Some(loss) = status.loss {
            self.one("loss_ratio", "Measured loss rate of the sending direction.", device, loss);
        }
    }

    fn ports(&mut self, status: &Status) {
        let counts = &status.counts;
        let both = [&status.lan, &status.link];
        let rows = [
            ("receive_frames_total", "Frames received by the relay.", [counts.lan_in, counts.link_in]),
            (
                "receive_bytes_total",
                "Bytes received by the relay.",
                [counts.lan_in_bytes, counts.link_in_bytes],
            ),
            ("transmit_frames_total", "Frames sent by the relay.", [counts.lan_out, counts.link_out]),
            (
                "transmit_bytes_total",
                "Bytes sent by the relay.",
                [counts.lan_out_bytes, counts.link_out_bytes],
            ),
            (
                "kernel_forwarded_frames_total",
                "Frames received on an interface that the kernel forwarded since protection last ended.",
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
            ("class_dropped_frames_total", "Frames from the LAN dropped for lack of room, by class."),
        ];
        for (at, (name, help)) in families.into_iter().enumerate() {
            let name = format!("wiremend_relay_{name}");
            self.family(&name, help);
            for Class { class, protection, counts } in classes {
                let labels = [("device", device), ("class", class), ("protection", protection.name())];
                self.row(&name, &labels, [counts.frames, counts.bytes, counts.dropped][at]);
            }
        }
    }

    fn drops(&mut self, status: &Status) {
        let counts = &status.counts;
        let (lan, link) = (&status.lan, &status.link);
        let [kernel_lan, kernel_link] = status.kernel_dropped;
        let [redirect_failed_lan, redirect_failed_link] = status.kernel_redirect_failed;
        self.family(
            "wiremend_relay_dropped_frames_total",
            "Frames dropped by this machine, by reason. missed_frames counts frames lost by the link.",
        );
        let rows = [
            (lan, "queue_full", counts.queue_dropped),
            (lan, "forged", counts.forged),
            (link, "echoed", counts.echoed),
            (link, "malformed", counts.malformed),
            (link, "foreign_address", counts.foreign_address),
            (link, "no_seal", counts.no_seal),
            (link, "wrong_seal", counts.wrong_seal),
            (link, "old_seal", counts.old_seal),
            (link, "bad_length", counts.bad_length),
            (link, "memory", counts.pool_empty),
            (link, "lan_full", counts.lan_refused),
            (link, "port_error", counts.port_errors),
            (lan, "unfinished", counts.unfinished),
            (lan, "link_local_excess", counts.link_local_excess),
            (lan, "handover", status.handover_lost),
            (lan, "kernel", kernel_lan),
            (link, "kernel", kernel_link),
            (lan, "kernel_redirect_failed", redirect_failed_lan),
            (link, "kernel_redirect_failed", redirect_failed_link),
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
        let max = |key: &str| status.link_counts.get(key).copied().unwrap_or_default();
        let rows = [
            ("resend", status.tx_buffer_bytes, max("tx_bytes_max")),
            ("reorder", status.rx_buffer_bytes, max("rx_bytes_max")),
            ("queue", status.counts.queue_bytes, status.counts.queue_bytes_max),
        ];
        let families = [
            (
                "wiremend_relay_buffer_bytes",
                "Bytes that wait for an acknowledgement (resend), for an earlier frame (reorder) or for the link (queue).",
            ),
            ("wiremend_relay_buffer_highest_bytes", "Maximum of buffer_bytes."),
        ];
        for (at, (name, help)) in families.into_iter().enumerate() {
            self.family(name, help);
            for (buffer, now, max) in rows {
                let labels = [("device", status.link.as_str()), ("buffer", buffer)];
                self.row(name, &labels, [now, max][at]);
            }
        }
        self.one("frames_in_memory", "Frames in the frame memory.", &status.link, status.pool_used);
        self.one(
            "memory_max_bytes",
            "Memory for frames if all of it is used.",
            &status.link,
            status.memory_max,
        );
    }

    fn recovery(&mut self, device: &str, recovery: &Recovery) {
        const NAME: &str = "wiremend_relay_recovery_delay_seconds";
        self.0.histogram(NAME, "Time from the detection of a gap to the arrival of the missing frame.");
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

    fn one(&mut self, name: &str, help: &str, device: &str, value: impl fmt::Display) {
        let name = format!("wiremend_relay_{name}");
        self.family(&name, help);
        self.row(&name, &[("device", device)], value);
    }

    /// Writes a family with one row per interface.
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

/// Metric name and help of a counter of the endpoint. Maxima are exported elsewhere.
fn link_count(key: &str) -> Option<(&'static str, &'static str)> {
    Some(match key {
        "protected" => ("protected_frames_total", "Frames sent with protection."),
        "resent" => ("resent_frames_total", "Copies retransmitted."),
        "dummies" => ("dummy_frames_total", "Dummy frames sent, which reveal lost frames to the peer."),
        "unbuffered" => (
            "unbuffered_frames_total",
            "Frames sent without a copy for retransmission, because the buffer was full.",
        ),
        "refused" => ("refused_requests_total", "Retransmission requests for which no copy was left."),
        "reopened" => ("reopened_total", "Times that protection started again."),
        "abandoned" => {
            ("abandoned_frames_total", "Frames of unknown fate, in flight when protection started again.")
        }
        "fallbacks" => ("fallbacks_total", "Times that protection was reduced because of high loss."),
        "missed" => ("missed_frames_total", "Frames of the receiving direction that the link lost."),
        "recovered" => ("recovered_frames_total", "Lost frames that were recovered."),
        "lost" => ("lost_frames_total", "Lost frames that were not recovered."),
        "duplicates" => ("duplicate_frames_total", "Duplicate copies received."),
        "overflowed" => ("overflowed_frames_total", "Frames dropped because the reorder buffer was full."),
        "notifications" => ("notifications_total", "Loss notifications sent."),
        "renotifications" => {
            ("renotifications_total", "Loss notifications repeated because the earlier ones had no effect.")
        }
        "acks" => ("ack_frames_total", "Frames sent only to acknowledge."),
        "pauses" => ("pauses_total", "Pause requests sent to the peer."),
        "ignored" => {
            ("ignored_signals_total", "Link headers ignored because of a wrong epoch or impossible value.")
        }
        _ => return None,
    })
}
