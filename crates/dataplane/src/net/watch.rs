//! Changes of interfaces as they happen.

use std::os::fd::{AsFd, BorrowedFd};

use super::Refused;
use super::interface::{self, Interface};
use crate::sys::netlink::Listener;

/// Hears of every change of an interface: up, down, carrier, removal.
#[derive(Debug)]
pub struct Watch {
    listener: Listener,
}

/// What has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// An interface is new or other than before, and now is this (without its addresses).
    Now(Box<Interface>),
    /// The interface with this number is gone.
    Gone(u32),
    /// So much has changed that not all of it was heard: ask anew.
    Missed,
}

impl Watch {
    /// Begins to listen, in the network namespace of the calling thread. Its descriptor is readable when there is news.
    pub fn open() -> Result<Self, Refused> {
        let listener = Listener::open(libc::RTMGRP_LINK)
            .map_err(|error| Refused::failed("listen to changes of interfaces", error))?;
        Ok(Self { listener })
    }

    /// What has changed since, in order, without waiting.
    pub fn changes(&mut self) -> Result<Vec<Change>, Refused> {
        let heard = self.listener.heard();
        let heard = heard.map_err(|error| Refused::failed("hear of changes of interfaces", error))?;
        let Some(heard) = heard else { return Ok(vec![Change::Missed]) };
        let change = |reply| match interface::removed(reply) {
            Some(index) => Some(Change::Gone(index)),
            None => interface::parse(reply).map(|interface| Change::Now(Box::new(interface))),
        };
        Ok(heard.iter().filter_map(change).collect())
    }
}

impl AsFd for Watch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}
