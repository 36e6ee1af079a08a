//! The XDP program on an interface: redirects frames to sockets by a map (`XSKMAP`).
//!
//! The first half of the map is for link frames, with one entry per queue, the second half for all others. If
//! the entry is empty, the frame passes to the kernel's network stack.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::ptr;

use super::{QUEUES_MAX, XdpMode};
use crate::sys::sockopt::owned;
/// An XDP program attached to an interface, detached when this value is dropped or the process dies.
pub(super) struct Program {
    map: OwnedFd,
    _link: OwnedFd,
}

// Arguments of the `bpf` system call: the first fields of `union bpf_attr`, by command.
#[repr(C)]
struct MapCreate {
    kind: u32,
    key_bytes: u32,
    value_bytes: u32,
    entries: u32,
    flags: u32,
}

#[repr(C)]
struct MapElement {
    map: u32,
    _gap: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[repr(C)]
#[derive(Default)]
struct ProgramLoad {
    kind: u32,
    instruction_count: u32,
    instructions: u64,
    licence: u64,
    log_level: u32,
    log_bytes: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
    name: [u8; 16],
    interface: u32,
    attach_type: u32,
}

#[repr(C)]
struct LinkCreate {
    program: u32,
    interface: u32,
    attach_type: u32,
    flags: u32,
}

const MAP_CREATE: libc::c_int = 0;
const MAP_UPDATE: libc::c_int = 2;
const MAP_DELETE: libc::c_int = 3;
const PROGRAM_LOAD: libc::c_int = 5;
const LINK_CREATE: libc::c_int = 28;
const KIND_XSKMAP: u32 = 17;
const KIND_XDP: u32 = 6;
const ATTACH_XDP: u32 = 37;
const FLAG_GENERIC: u32 = 1 << 1;
const FLAG_NATIVE: u32 = 1 << 2;

impl Program {
    pub(super) fn attach(interface: u32, ethertype: u16, mode: XdpMode) -> io::Result<Self> {
        let entries = QUEUES_MAX as u32 * 2;
        let map = call(
            MAP_CREATE,
            &MapCreate { kind: KIND_XSKMAP, key_bytes: 4, value_bytes: 4, entries, flags: 0 },
        )?;
        let map = owned(map)?;
        let instructions = instructions(map.as_raw_fd(), ethertype);
        let load = ProgramLoad {
            kind: KIND_XDP,
            instruction_count: instructions.len() as u32,
            instructions: instructions.as_ptr().addr() as u64,
            licence: c"Dual MIT/GPL".as_ptr().addr() as u64,
            name: *b"wiremend\0\0\0\0\0\0\0\0",
            attach_type: ATTACH_XDP,
            ..ProgramLoad::default()
        };
        let program = owned(call(PROGRAM_LOAD, &load)?)?;
        let flags = if mode == XdpMode::Native { FLAG_NATIVE } else { FLAG_GENERIC };
        let attach =
            LinkCreate { program: program.as_raw_fd() as u32, interface, attach_type: ATTACH_XDP, flags };
        let link = owned(call(LINK_CREATE, &attach)?)?;
        Ok(Self { map, _link: link })
    }

    /// Sets an entry of the map to a socket, or clears it.
    pub(super) fn route(&self, entry: u32, socket: Option<BorrowedFd<'_>>) -> io::Result<()> {
        let value = socket.map_or(0, |socket| socket.as_raw_fd() as u32);
        let element = MapElement {
            map: self.map.as_raw_fd() as u32,
            _gap: 0,
            key: ptr::from_ref(&entry).addr() as u64,
            // The kernel requires a null value for a deletion.
            value: socket.map_or(0, |_| ptr::from_ref(&value).addr() as u64),
            flags: 0,
        };
        let command = if socket.is_some() { MAP_UPDATE } else { MAP_DELETE };
        match call(command, &element) {
            Err(error) if socket.is_none() && error.raw_os_error() == Some(libc::ENOENT) => Ok(()),
            done => done.map(drop),
        }
    }
}
/// Encodes an eBPF instruction: operation, destination and source register, offset, immediate.
const fn instruction(code: u8, to: u8, from: u8, offset: i16, value: i32) -> u64 {
    code as u64
        | (to as u64) << 8
        | (from as u64) << 12
        | (offset as u16 as u64) << 16
        | (value as u32 as u64) << 32
}

fn instructions(map: i32, ethertype: u16) -> [u64; 17] {
    const LOAD_U32: u8 = 0x61;
    const LOAD_U16: u8 = 0x69;
    const LOAD_WIDE: u8 = 0x18;
    const MOVE: u8 = 0xb7;
    const COPY: u8 = 0xbf;
    const ADD: u8 = 0x07;
    const IF_GREATER: u8 = 0x2d;
    const IF_EQUAL: u8 = 0x15;
    const CALL: u8 = 0x85;
    const EXIT: u8 = 0x95;
    const A_MAP: u8 = 1;
    const PASS: i32 = 2;
    const REDIRECT: i32 = 51;
    // In host byte order, as the program loads the two bytes.
    let ethertype = i32::from(u16::from_ne_bytes(ethertype.to_be_bytes()));
    [
        instruction(LOAD_U32, 7, 1, 16, 0),           // r7 = queue
        instruction(LOAD_U32, 2, 1, 0, 0),            // r2 = start of the frame
        instruction(LOAD_U32, 3, 1, 4, 0),            // r3 = end of the frame
        instruction(COPY, 4, 2, 0, 0),                // r4 = r2 + 14
        instruction(ADD, 4, 0, 0, 14),                //
        instruction(IF_GREATER, 4, 3, 9, 0),          // a runt: to the kernel
        instruction(LOAD_U16, 5, 2, 12, 0),           // r5 = EtherType
        instruction(IF_EQUAL, 5, 0, 1, ethertype),    // link frames: first half
        instruction(ADD, 7, 0, 0, QUEUES_MAX as i32), // others: second half
        instruction(LOAD_WIDE, 1, A_MAP, 0, map),     // r1 = map
        0,                                            //
        instruction(COPY, 2, 7, 0, 0),                // r2 = entry
        instruction(MOVE, 3, 0, 0, PASS),             // r3 = action if the entry is empty
        instruction(CALL, 0, 0, 0, REDIRECT),         //
        instruction(EXIT, 0, 0, 0, 0),                //
        instruction(MOVE, 0, 0, 0, PASS),             //
        instruction(EXIT, 0, 0, 0, 0),                //
    ]
}

fn call<T>(command: libc::c_int, attributes: &T) -> io::Result<libc::c_int> {
    // SAFETY: the attributes and the targets of their pointers outlive the call and fit the command.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, ptr::from_ref(attributes), size_of::<T>()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as libc::c_int) }
}
