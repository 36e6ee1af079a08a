//! A UDP port that is held, so that the kernel does not answer its datagrams with ICMP.

use std::io;
use std::net::{IpAddr, UdpSocket};

use super::sockopt;

/// Holds a port of this address. The kernel drops what arrives without queueing it.
pub fn hold_port(ip: IpAddr, port: u16) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind((ip, port))?;
    let refuse = libc::sock_filter { code: (libc::BPF_RET | libc::BPF_K) as u16, jt: 0, jf: 0, k: 0 };
    let program = libc::sock_fprog { len: 1, filter: (&raw const refuse).cast_mut() };
    sockopt::set(&socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    /// A port without a socket refuses datagrams, which a connected sender notices; a held one drops them.
    #[test]
    fn a_held_port_neither_refuses_nor_queues() {
        let held = hold_port(Ipv4Addr::LOCALHOST.into(), 0).unwrap();
        let port = held.local_addr().unwrap().port();
        assert!(hold_port(Ipv4Addr::LOCALHOST.into(), port).is_err(), "taken");
        let sender = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        sender.connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        for _ in 0..3 {
            sender.send(b"datagram").unwrap();
        }
        held.set_nonblocking(true).unwrap();
        assert_eq!(held.recv(&mut [0; 16]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        drop(held);
        let refused = (0..3).any(|_| sender.send(b"datagram").is_err());
        assert!(refused, "after its release the port refuses");
    }
}
