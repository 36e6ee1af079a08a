//! Follows the MTUs of the two ports, which another program may change at any time.

use super::{RelayError, Settings, ports};
use crate::net::{Interface, InterfaceWatch};

/// Watches the MTUs of the ports.
pub(super) struct MtuWatch {
    watch: InterfaceWatch,
    /// MTU of the LAN for which the buffers were made.
    lan_mtu: u32,
    held_back: Option<String>,
    needs_resize: bool,
}

impl MtuWatch {
    /// Starts with the MTU of the LAN for which the buffers were made.
    pub(super) fn open(settings: &Settings, lan_mtu: u32) -> Result<Self, RelayError> {
        let watch = InterfaceWatch::open()?;
        let mut mtu = Self { watch, lan_mtu, held_back: None, needs_resize: false };
        mtu.read(settings);
        Ok(mtu)
    }

    /// Why frames of the LAN may not be protected.
    pub(super) fn held_back(&self) -> Option<&str> {
        self.held_back.as_deref()
    }

    /// Whether protected frames need larger buffers than this process has.
    pub(super) fn needs_resize(&self) -> bool {
        self.needs_resize
    }

    /// Reads the MTUs if an interface has changed. Returns whether [`Self::held_back`] is different.
    pub(super) fn update(&mut self, settings: &Settings) -> bool {
        // If the watch fails, reading costs more but is right.
        if self.watch.changes().is_ok_and(|changes| changes.is_empty()) {
            return false;
        }
        let before = self.held_back.take();
        self.read(settings);
        self.held_back != before
    }

    fn read(&mut self, settings: &Settings) {
        let both = (Interface::by_name(&settings.lan), Interface::by_name(&settings.link));
        // The supervisor reports an interface that is gone.
        let (Ok(lan), Ok(link)) = both else { return };
        match ports::check_mtu(&lan, &link) {
            Ok(()) => self.needs_resize |= lan.mtu > self.lan_mtu,
            Err(why) => self.held_back = Some(format!("no protection of what is sent: {why}")),
        }
    }
}
