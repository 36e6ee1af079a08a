//! Notifications of changes of interfaces and of tc rules.

use std::os::fd::{AsFd, BorrowedFd};

use super::NetError;
use super::interface::{self, Interface};
use crate::sys::netlink::Listener;

/// Receives notifications of interface changes: up, down, carrier, removal.
#[derive(Debug)]
pub struct InterfaceWatch {
    listener: Listener,
}

/// A change of an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InterfaceChange {
    /// An interface is new or has changed; its new state, without addresses.
    Now(Box<Interface>),
    /// The interface with this index was removed.
    Gone(u32),
    /// Notifications were lost; query the interfaces.
    Missed,
}

impl InterfaceWatch {
    /// Subscribes in the namespace of the calling thread. The descriptor is readable when there are changes.
    pub fn open() -> Result<Self, NetError> {
        let listener = Listener::open(libc::RTMGRP_LINK)
            .map_err(|error| NetError::failed("subscribe to interface changes", error))?;
        Ok(Self { listener })
    }

    /// Returns the changes since the last call, in order, without waiting.
    pub fn changes(&mut self) -> Result<Vec<InterfaceChange>, NetError> {
        let messages = self.listener.take_messages();
        let messages = messages.map_err(|error| NetError::failed("receive interface changes", error))?;
        let Some(messages) = messages else { return Ok(vec![InterfaceChange::Missed]) };
        let change = |reply| match interface::removed(reply) {
            Some(index) => Some(InterfaceChange::Gone(index)),
            None => interface::parse(reply).map(|interface| InterfaceChange::Now(Box::new(interface))),
        };
        Ok(messages.iter().filter_map(change).collect())
    }
}

impl AsFd for InterfaceWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

/// Receives notifications of changes of tc rules.
#[derive(Debug)]
pub struct RuleWatch {
    listener: Listener,
}

impl RuleWatch {
    /// Subscribes in the namespace of the calling thread.
    pub fn open() -> Result<Self, NetError> {
        let listener = Listener::open(libc::RTMGRP_TC)
            .map_err(|error| NetError::failed("subscribe to changes of tc rules", error))?;
        Ok(Self { listener })
    }

    /// Whether any rule may have changed since the last call.
    pub fn has_changed(&mut self) -> bool {
        !matches!(self.listener.take_messages(), Ok(Some(messages)) if messages.is_empty())
    }
}
