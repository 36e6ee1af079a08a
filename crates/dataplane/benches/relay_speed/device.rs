//! The device under test at each end of the link: a bare forwarder or a relay.

use std::io::{self, IoSlice};
use std::os::fd::AsFd;

use wiremend_dataplane::port::{ImpairedPort, LinuxPort, Port};
use wiremend_dataplane::relay::{Classifier, DataPath, DataPathConfig, Trust};
use wiremend_dataplane::sys::packet::{Pieces, RxFrame, SEND_MAX};
use wiremend_dataplane::wire::ImpairmentSettings;
use wiremend_proto::link::Config;
use wiremend_units::{Bytes, Rate, Span, Time};
use wiremend_wire::MacAddr;
use wiremend_wire::link::LinkCodec;

use crate::BoxError;
use crate::recovery::Delays;

pub(crate) trait Device {
    /// See [`DataPath::run_once`].
    fn run_once(&mut self, now: Time) -> io::Result<bool>;
    fn next_due(&self, now: Time) -> Option<Time>;
    fn is_ready(&self) -> bool;
    fn carried(&self) -> u64;
    fn ports(&self) -> [&dyn AsFd; 2];
    fn delays(&self) -> Delays;
}

/// Sends frames from each port to the other, straight from the receive ring.
pub(crate) struct Forwarder {
    ports: [LinuxPort; 2],
    carried: u64,
}

#[expect(clippy::unnecessary_wraps, reason = "same signature as `relay`")]
pub(crate) fn forwarder(_side: usize, lan: LinuxPort, link: LinuxPort) -> Result<Forwarder, BoxError> {
    Ok(Forwarder { ports: [lan, link], carried: 0 })
}

impl Device for Forwarder {
    fn run_once(&mut self, _now: Time) -> io::Result<bool> {
        let mut most = 0;
        for from in 0..2 {
            let [lan, link] = &mut self.ports;
            let (from_port, to_port) = if from == 0 { (lan, link) } else { (link, lan) };
            let mut arrivals: [Option<RxFrame>; SEND_MAX] = [None; SEND_MAX];
            let mut count = 0;
            while count < SEND_MAX
                && let Some(rx_frame) = from_port.take()
            {
                arrivals[count] = Some(rx_frame);
                count += 1;
            }
            let mut batch: [Pieces<'_>; SEND_MAX] = [[IoSlice::new(&[]); 3]; SEND_MAX];
            for (pieces, rx_frame) in batch.iter_mut().zip(arrivals.iter().flatten()) {
                pieces[0] = IoSlice::new(from_port.bytes(rx_frame));
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

pub(crate) type Relay = DataPath<ImpairedPort<LinuxPort>>;

pub(crate) fn relay(side: usize, loss: f64, lan: LinuxPort, link: LinuxPort) -> Result<Relay, BoxError> {
    let impairment = ImpairmentSettings { loss, ..ImpairmentSettings::default() };
    let link = ImpairedPort::new(link, impairment.build(side as u64)?);
    let mut datapath =
        DataPath::new(ImpairedPort::new(lan, ImpairmentSettings::default().build(0)?), link, config(side));
    datapath.endpoint_mut().activate(Time::ZERO, 1 + side as u32);
    Ok(datapath)
}

impl Device for Relay {
    fn run_once(&mut self, now: Time) -> io::Result<bool> {
        // Repeats the hello until the other end has started.
        self.endpoint_mut().on_traffic(now);
        Self::run_once(self, now)
    }

    fn next_due(&self, now: Time) -> Option<Time> {
        Self::next_due(self, now)
    }

    fn is_ready(&self) -> bool {
        self.endpoint().is_active() && self.endpoint().is_receiving()
    }

    fn carried(&self) -> u64 {
        self.counts().lan_out
    }

    fn ports(&self) -> [&dyn AsFd; 2] {
        [self.lan().port(), self.link().port()]
    }

    fn delays(&self) -> Delays {
        self.endpoint().delays().buckets().map(|(edge, count)| (edge.as_ns(), count)).collect()
    }
}

fn config(side: usize) -> DataPathConfig {
    let link = Config::for_link(Rate::gbps(10), Bytes::new(1522), Span::from_ms(20));
    let link =
        Config { rtt_initial: Span::from_us(500), give_up: Some(Span::from_ms(20)), rtt_samples: 5, ..link };
    DataPathConfig {
        link,
        codec: LinkCodec::default(),
        source: MacAddr([2, 0, 0, 0, 1, side as u8]),
        trust: Trust::PeerAddress,
        classes: Classifier::default(),
        queue_bytes_max: 4 << 20,
        slots: 32_768,
        device_frames: 64,
    }
}
