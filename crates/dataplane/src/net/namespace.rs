//! Networks of one's own: a network namespace that lives as long as someone holds it.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::panic::resume_unwind;
use std::thread::{self, JoinHandle};

use super::Refused;
use crate::sys::namespace::{enter_network, own_network, unshare_network};

/// A network namespace, held by an open file.
///
/// It has no name anywhere: when the last holder and the last process in it are gone, so is all that was in it.
#[derive(Debug)]
pub struct NetNs {
    file: File,
}

impl NetNs {
    /// Makes an empty one. Needs `CAP_SYS_ADMIN`; without it, enter a user namespace first
    /// ([`enter_user`](crate::sys::namespace::enter_user)).
    pub fn new() -> Result<Self, Refused> {
        let made = thread::spawn(|| unshare_network().and_then(|()| own_network())).join();
        let file = made.unwrap_or_else(|panic| resume_unwind(panic));
        file.map(|file| Self { file }).map_err(|error| refused("make a network namespace", error))
    }

    /// The calling thread's.
    pub fn current() -> Result<Self, Refused> {
        let file = own_network().map_err(|error| refused("hold the network namespace", error))?;
        Ok(Self { file })
    }

    /// Runs `work` on a thread of its own inside, and waits for it.
    pub fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> Result<R, Refused> {
        thread::scope(|scope| {
            let inside = scope.spawn(|| enter_network(&self.file).map(|()| work()));
            inside.join().unwrap_or_else(|panic| resume_unwind(panic))
        })
        .map_err(|error| refused("enter a network namespace", error))
    }

    /// Starts `work` on a thread of its own inside. Processes that it starts are inside as well.
    pub fn spawn<R: Send + 'static>(
        &self,
        work: impl FnOnce() -> R + Send + 'static,
    ) -> Result<JoinHandle<io::Result<R>>, Refused> {
        let hold = |error| refused("enter a network namespace", error);
        let file = self.file.try_clone().map_err(hold)?;
        thread::Builder::new()
            .spawn(move || {
                enter_network(&file)?;
                drop(file);
                Ok(work())
            })
            .map_err(hold)
    }
}

impl AsFd for NetNs {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

fn refused(what: &str, error: io::Error) -> Refused {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => Refused::not_permitted(what, "CAP_SYS_ADMIN", error),
        _ => Refused::failed(what, error),
    }
}
