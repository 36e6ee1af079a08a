//! With any frames from the wire and any set-up message, an endpoint neither panics nor grows, and changes only the
//! memory whose key the peer has.

use std::net::{IpAddr, Ipv4Addr};

use wiremend_peer::perftest::{Keys, parse_mtu};
use wiremend_peer::{
    Access, DropRule, Endpoint, FRAME_BYTES_MAX, PairSettings, Path, Post, Remote, Settings, Slice,
};
use wiremend_proto::engine::Op;
use wiremend_proto::rc::Config;
use wiremend_units::{Psn, QpNum, Span, Time};
use wiremend_wire::{
    BthRepr, EthernetRepr, Extension, IpRepr, Ipv4Repr, Layout, MacAddr, Opcode, RethRepr, RoceFrame,
    TrafficClass, Trailer, Vlans,
};

use super::draw::Draw;

const TURNS: u32 = 200;
const LEN: u32 = 2048;
const FIRST: u32 = 0xFF_FFF8;
const PEER: QpNum = QpNum::new(0x11);
/// Frames that one turn may answer with: a READ of everything, and acknowledgements.
const FRAMES_MAX: u32 = 200_000;

pub(crate) fn check(bytes: &[u8]) {
    check_text(bytes);
    let mut draw = Draw::new(bytes);
    let settings =
        Settings { nak_copies: draw.byte() % 3, resend_copies: draw.byte() % 3, dcqcn: None, seed: 5 };
    let mut end = Endpoint::new(settings);
    let open = end.register(u64::from(LEN), Access::ALL);
    let secret = end.register(u64::from(LEN), Access::ALL);
    let (address, key) = end.address_and_key(open);
    let config = Config { mtu: 256, timeout: Some(Span::from_us(50)), window: 16, ..Config::default() };
    let pair_settings =
        PairSettings { config, merges_acks: true, first_psn: Psn::new(FIRST), access: Access::ALL };
    let remote = Remote { path: path(), pair: PEER, first_psn: Psn::new(FIRST) };
    let pair = end.connect(pair_settings, remote).unwrap();
    let slice = Slice { region: open, offset: 0, len: LEN };
    let mut now = Time::from_ns(1);
    for turn in 0..TURNS {
        if draw.is_over() {
            break;
        }
        now = now.saturating_add(Span::from_us(u64::from(draw.byte())));
        match draw.byte() % 8 {
            0 => {
                let _ = end.post_receive(pair, u64::from(turn), slice);
            }
            1 => {
                let op = draw.pick(&[Op::Send, Op::Write, Op::Read, Op::FetchAdd, Op::SendInvalidate]);
                let local = if op == Op::FetchAdd { Slice { len: 8, ..slice } } else { slice };
                let post = Post { id: 1, op, local, address, key: 7, imm: None, operands: [1, 2] };
                let _ = end.post(now, pair, post);
            }
            2 => end.on_frame(now, &[draw.byte(), draw.byte()], Some(draw.byte().into())),
            _ => {
                let frame = frame(&mut draw, pair.number(), address, key);
                end.on_frame(now, &frame, None);
            }
        }
        end.on_timeout(now);
        let mut buffer = [0; FRAME_BYTES_MAX];
        let mut frames = 0;
        while let Some(len) = end.poll_transmit(now, &mut buffer) {
            assert!(RoceFrame::parse(&buffer[..len]).is_ok());
            frames += 1;
            assert!(frames < FRAMES_MAX);
        }
        while end.poll_event().is_some() {}
    }
    assert!(end.memory(secret).iter().all(|byte| *byte == 0));
}

/// Text of the set-up and of the command line.
fn check_text(bytes: &[u8]) {
    if let Some(keys) = Keys::parse(bytes) {
        assert_eq!(Keys::parse(&keys.to_bytes()), Some(keys));
    }
    if let Some(keys) = Keys::parse_pingpong(bytes) {
        assert_eq!(Keys::parse_pingpong(&keys.to_pingpong()), Some(keys));
    }
    let _ = parse_mtu(bytes);
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = text.parse::<DropRule>();
    }
}

fn path() -> Path {
    Path {
        local_mac: MacAddr::local(1),
        remote_mac: MacAddr::local(2),
        local_ip: Ipv4Addr::new(198, 18, 0, 1).into(),
        remote_ip: Ipv4Addr::new(198, 18, 0, 2).into(),
        vlan: None,
        class: TrafficClass::default(),
        source_port: 0xC000,
    }
}

/// A frame of the peer with a right ICRC and nearly right headers.
fn frame(draw: &mut Draw<'_>, pair: QpNum, address: u64, key: u32) -> Vec<u8> {
    let path = path();
    let (IpAddr::V4(destination), IpAddr::V4(source)) = (path.local_ip, path.remote_ip) else {
        unreachable!()
    };
    let opcode = draw.pick(&Opcode::ALL);
    let mut headers = [0; 32];
    let len = opcode.layout().bytes();
    headers[..len].fill_with(|| draw.byte());
    if matches!(opcode.layout(), Layout::Reth | Layout::RethImm) {
        let dma_len = draw.pick(&[0, 1, 256, 257, LEN, LEN + 1, u32::MAX]);
        let reth = RethRepr { address: address + u64::from(draw.byte()), remote_key: key, dma_len };
        reth.emit(&mut headers[..RethRepr::BYTES]);
    }
    let (extension, _) = Extension::parse(opcode, &headers[..len]).unwrap();
    let payload = vec![draw.byte(); draw.pick(&[0, 1, 8, 255, 256, 257])];
    let psn = Psn::new(draw.near(FIRST));
    let bth = BthRepr { ack_request: draw.is(2), ..BthRepr::new(opcode, pair, psn) };
    let class = TrafficClass::default();
    let ip = Ipv4Repr { source, destination, class, identification: 0, dont_fragment: true, ttl: 1 };
    let ethernet =
        EthernetRepr { destination: path.local_mac, source: path.remote_mac, vlans: Vlans::Untagged };
    RoceFrame { ethernet, ip: IpRepr::V4(ip), source_port: 1, bth, extension, payload: &payload }
        .to_bytes(Trailer::None)
}
