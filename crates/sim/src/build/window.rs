//! The window of connections.

use wiremend_scenario::{Operation, Recovery, Transport, Window};

use super::longest_path::LongestPath;

/// Windows of all connections, in packets. Each engine has its own largest one.
#[derive(Clone, Copy)]
pub(super) struct Windows {
    /// Most packets that may be unacknowledged.
    pub(super) most: u32,
    /// Where a scheme that adapts its window begins.
    pub(super) first: u32,
}

pub(super) fn windows(transport: &Transport, longest: &LongestPath) -> Windows {
    let bdp = longest.packets;
    let adapts_or_has_none =
        matches!(transport.recovery.value, Recovery::GoBackN | Recovery::GoBack0 | Recovery::MpRdma);
    match transport.window {
        Window::Packets(packets) => Windows { most: packets.get(), first: packets.get() },
        Window::Unlimited => Windows { most: u32::MAX, first: bdp },
        Window::Paper if adapts_or_has_none => Windows { most: u32::MAX, first: bdp },
        // A READ takes as many numbers as its response has packets: a window would send large ones one by one.
        // With DCP the data have a window of their own.
        Window::Bdp
            if transport.operation == Operation::Read && transport.recovery.value != Recovery::Dcp =>
        {
            Windows { most: u32::MAX, first: bdp }
        }
        Window::Bdp => Windows { most: longest.filling_packets, first: longest.filling_packets },
        Window::Paper => Windows { most: bdp, first: bdp },
    }
}
