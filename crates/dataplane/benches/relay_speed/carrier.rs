//! What stands at each end of the link: a bare forwarder, or a relay.

use std::io::{self, IoSlice};
use std::os::fd::AsFd;

use wiremend_dataplane::cable::Ailment;
use wiremend_dataplane::port::{Impaired, LinuxPort, Port};
use wiremend_dataplane::relay::{Bump, BumpConfig, Classes};
use wiremend_dataplane::sys::packet::{Arrival, Pieces, SEND_MAX};
use wiremend_proto::link::Config;
use wiremend_units::{Bytes, Rate, Span, Time};
use wiremend_wire::MacAddr;
use wiremend_wire::link::Dialect;

use crate::Trouble;
use crate::recovery::Delays;

/// What stands at one end of the link.
pub(crate) trait Carrier {
    /// As [`Bump::turn`].
    fn turn(&mut self, now: Time) -> io::Result<bool>;
    fn next_due(&self, now: Time) -> Option<Time>;
    fn is_ready(&self) -> bool;
    /// Frames that went to the LAN.
    fn carried(&self) -> u64;
    fn ports(&self) -> [&dyn AsFd; 2];
    fn delays(&self) -> Delays;
}

/// Takes frames from each port and sends them by the other, from the ring in which they came.
pub(crate) struct Forwarder {
    ports: [LinuxPort; 2],
    carried: u64,
}

#[expect(clippy::unnecessary_wraps, reason = "it is one of a kind")]
pub(crate) fn forwarder(_side: usize, lan: LinuxPort, link: LinuxPort) -> Result<Forwarder, Trouble> {
    Ok(Forwarder { ports: [lan, link], carried: 0 })
}

impl Carrier for Forwarder {
    fn turn(&mut self, _now: Time) -> io::Result<bool> {
        let mut most = 0;
        for from in 0..2 {
            let [lan, link] = &mut self.ports;
            let (from_port, to_port) = if from == 0 { (lan, link) } else { (link, lan) };
            let mut arrivals: [Option<Arrival>; SEND_MAX] = [None; SEND_MAX];
            let mut count = 0;
            while count < SEND_MAX
                && let Some(arrival) = from_port.take()
            {
                arrivals[count] = Some(arrival);
                count += 1;
            }
            let mut batch: [Pieces<'_>; SEND_MAX] = [[IoSlice::new(&[]); 3]; SEND_MAX];
            for (pieces, arrival) in batch.iter_mut().zip(arrivals.iter().flatten()) {
                pieces[0] = IoSlice::new(from_port.bytes(arrival));
            }
            let mut sent = 0;
            while sent < count {
                sent += to_port.send(&batch[sent..count])?;
            }
            from_port.release();
            self.carried += if from == 1 { count as u64 } else { 0 };
            most = most.max(count);
        }
        Ok(most == SEND_MAX)
    }

    fn next_due(&self, _now: Time) -> Option<Time> {
        None
    }

    fn is_ready(&self) -> bool {
        true
    }

    fn carried(&self) -> u64 {
        self.carried
    }

    fn ports(&self) -> [&dyn AsFd; 2] {
        [&self.ports[0], &self.ports[1]]
    }

    fn delays(&self) -> Delays {
        Delays::default()
    }
}

pub(crate) type Relay = Bump<Impaired<LinuxPort>>;

pub(crate) fn relay(side: usize, loss: f64, lan: LinuxPort, link: LinuxPort) -> Result<Relay, Trouble> {
    let ailment = Ailment { loss, ..Ailment::default() };
    let link = Impaired::new(link, ailment.impairments(side as u64)?);
    let mut bump = Bump::new(Impaired::new(lan, Ailment::default().impairments(0)?), link, config(side));
    bump.end_mut().activate(Time::ZERO, 1 + side as u32);
    Ok(bump)
}

impl Carrier for Relay {
    fn turn(&mut self, now: Time) -> io::Result<bool> {
        // The other end may have been slower to start than hellos are repeated.
        self.end_mut().on_traffic(now);
        Self::turn(self, now)
    }

    fn next_due(&self, now: Time) -> Option<Time> {
        Self::next_due(self, now)
    }

    fn is_ready(&self) -> bool {
        self.end().is_active() && self.end().is_receiving()
    }

    fn carried(&self) -> u64 {
        self.counts().lan_out
    }

    fn ports(&self) -> [&dyn AsFd; 2] {
        [self.lan().port(), self.link().port()]
    }

    fn delays(&self) -> Delays {
        self.end().delays().buckets().map(|(edge, count)| (edge.as_ns(), count)).collect()
    }
}

fn config(side: usize) -> BumpConfig {
    let link = Config::for_link(Rate::gbps(10), Bytes::new(1522), Span::from_ms(20));
    let link =
        Config { rtt_at_first: Span::from_us(500), give_up: Some(Span::from_ms(20)), rtt_samples: 5, ..link };
    BumpConfig {
        link,
        dialect: Dialect::default(),
        source: MacAddr([2, 0, 0, 0, 1, side as u8]),
        classes: Classes::default(),
        queue_bytes_max: 4 << 20,
        slots: 32_768,
        handed_frames: 64,
    }
}
