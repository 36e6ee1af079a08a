//! Corrupts a chosen TCP segment of each connection.

use std::collections::VecDeque;
use std::net::Ipv4Addr;

use wiremend_wire::{ETHERTYPE_IPV4, EthernetRepr, Ipv4Repr, PROTOCOL_TCP, TcpFlags, TcpRepr};

/// Corrupts the first transmission of the segment that carries a given byte of each connection's stream. It sees
/// connections over IPv4 whose SYN crosses the wire.
#[derive(Clone, Debug)]
pub(super) struct SegmentFault {
    /// Offset of the byte in the stream.
    byte: u32,
    /// Connections whose segment is still to come, oldest first.
    open: VecDeque<Connection>,
}

#[derive(Clone, Copy, Debug)]
struct Connection {
    hosts: [Ipv4Addr; 2],
    ports: [u16; 2],
    /// Number of the first byte of the stream.
    first: u32,
}

/// Connections to remember; if there are more, the oldest is left alone.
const CONNECTIONS_MAX: usize = 1024;

impl SegmentFault {
    pub(super) fn new(byte: u32) -> Self {
        Self { byte, open: VecDeque::new() }
    }

    /// Returns whether this untagged frame is corrupted.
    pub(super) fn corrupts(&mut self, frame: &[u8]) -> bool {
        let Some((hosts, tcp, len)) = parse(frame) else { return false };
        let ports = [tcp.source_port, tcp.destination_port];
        let place = self.open.iter().position(|open| (open.hosts, open.ports) == (hosts, ports));
        if tcp.flags.0 & TcpFlags::SYN.0 != 0 {
            if let Some(place) = place {
                self.open.remove(place);
            } else if self.open.len() == CONNECTIONS_MAX {
                self.open.pop_front();
            }
            self.open.push_back(Connection { hosts, ports, first: tcp.seq.wrapping_add(1) });
            return false;
        }
        let Some(place) = place else { return false };
        let ahead = self.open[place].first.wrapping_add(self.byte).wrapping_sub(tcp.seq);
        let hit = ahead < len;
        if hit {
            self.open.remove(place);
        }
        hit
    }
}

/// Parses a segment; returns its hosts, its header and the length of its payload.
fn parse(frame: &[u8]) -> Option<([Ipv4Addr; 2], TcpRepr, u32)> {
    let (_, ethertype, rest) = EthernetRepr::parse(frame).ok()?;
    if ethertype != ETHERTYPE_IPV4 {
        return None;
    }
    let (ip, protocol, body) = Ipv4Repr::parse(rest).ok()?;
    if protocol != PROTOCOL_TCP {
        return None;
    }
    let (tcp, payload) = TcpRepr::parse(body.bytes).ok()?;
    Some(([ip.source, ip.destination], tcp, payload.len() as u32))
}

#[cfg(test)]
mod tests {
    use wiremend_wire::{MacAddr, TrafficClass, Vlans};

    use super::*;

    fn frame(port: u16, seq: u32, flags: TcpFlags, len: usize) -> Vec<u8> {
        let ends = [Ipv4Addr::new(198, 18, 0, 1), Ipv4Addr::new(198, 18, 0, 2)];
        let tcp = TcpRepr {
            source_port: port,
            destination_port: 5_001,
            seq,
            ack: 0,
            flags,
            window: 1_000,
            timestamps: (1, 2),
            blocks: [None; 3],
        };
        let ip = Ipv4Repr {
            source: ends[0],
            destination: ends[1],
            class: TrafficClass::default(),
            identification: 0,
            dont_fragment: true,
            ttl: 64,
        };
        let ethernet =
            EthernetRepr { destination: MacAddr([2; 6]), source: MacAddr([4; 6]), vlans: Vlans::default() };
        let payload = vec![0; len];
        let mut bytes = vec![0; ethernet.buffer_len() + ip.buffer_len() + tcp.buffer_len()];
        let (head, rest) = bytes.split_at_mut(ethernet.buffer_len());
        ethernet.emit(ETHERTYPE_IPV4, head);
        let (head, rest) = rest.split_at_mut(ip.buffer_len());
        ip.emit(PROTOCOL_TCP, tcp.buffer_len() + len, head);
        tcp.emit(ends[0], ends[1], &payload, rest);
        bytes.extend(payload);
        bytes
    }

    /// Numbers wrap within the connection. A retransmission, other segments and other connections pass.
    #[test]
    fn first_transmission_of_the_segment_is_corrupted() {
        let mut fault = SegmentFault::new(2_500);
        let mut corrupts = |port, seq: u32, flags, len| fault.corrupts(&frame(port, seq, flags, len));
        let first = u32::MAX - 1_000;
        assert!(!corrupts(7, first.wrapping_sub(1), TcpFlags::SYN, 0));
        assert!(!corrupts(8, 99, TcpFlags::SYN, 0));
        assert!(!corrupts(7, first, TcpFlags::ACK, 1_448));
        assert!(!corrupts(9, first.wrapping_add(1_448), TcpFlags::ACK, 1_448), "its SYN was not seen");
        assert!(corrupts(7, first.wrapping_add(1_448), TcpFlags::ACK, 1_448));
        assert!(!corrupts(7, first.wrapping_add(1_448), TcpFlags::ACK, 1_448), "a retransmission");
        assert!(!corrupts(8, 100, TcpFlags::ACK, 2_500));
        assert!(corrupts(8, 2_600, TcpFlags::ACK, 1));
        assert!(!corrupts(7, first.wrapping_sub(1), TcpFlags::SYN, 0));
        assert!(corrupts(7, first, TcpFlags::ACK, 2_501), "the port was used again");
        assert!(!fault.corrupts(&[0; 60]), "another protocol");
    }

    #[test]
    fn memory_is_bounded() {
        let mut fault = SegmentFault::new(0);
        (0..3_000).for_each(|port| assert!(!fault.corrupts(&frame(port, 0, TcpFlags::SYN, 0))));
        assert_eq!(fault.open.len(), CONNECTIONS_MAX);
        assert!(!fault.corrupts(&frame(0, 1, TcpFlags::ACK, 1)));
        assert!(fault.corrupts(&frame(2_999, 1, TcpFlags::ACK, 1)));
    }
}
