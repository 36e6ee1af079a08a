//! Network namespaces.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::panic::resume_unwind;
use std::thread::{self, JoinHandle};

use super::NetError;
use crate::sys::namespace::{enter_network, own_network, unshare_network};

/// An unnamed network namespace, referenced by an open file.
///
/// The kernel removes it with everything in it after the last reference and the last process in it are gone.
#[derive(Debug)]
pub struct NetNs {
    file: File,
}

impl NetNs {
    /// Creates an empty namespace. Needs `CAP_SYS_ADMIN`; without it, enter a user namespace first
    /// ([`enter_user`](crate::sys::namespace::enter_user)).
    pub fn new() -> Result<Self, NetError> {
        let made = thread::spawn(|| unshare_network().and_then(|()| own_network())).join();
        let file = made.unwrap_or_else(|panic| resume_unwind(panic));
        file.map(|file| Self { file }).map_err(|error| error_for("create a network namespace", error))
    }

    /// The namespace of the calling thread.
    pub fn current() -> Result<Self, NetError> {
        let file = own_network().map_err(|error| error_for("open the network namespace", error))?;
        Ok(Self { file })
    }

    /// Runs `work` in a new thread inside the namespace and waits for it.
    pub fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> Result<R, NetError> {
        thread::scope(|scope| {
            let inside = scope.spawn(|| enter_network(&self.file).map(|()| work()));
            inside.join().unwrap_or_else(|panic| resume_unwind(panic))
        })
        .map_err(|error| error_for("enter a network namespace", error))
    }

    /// Starts `work` in a new thread inside the namespace. Its child processes run inside as well.
    pub fn spawn<R: Send + 'static>(
        &self,
        work: impl FnOnce() -> R + Send + 'static,
    ) -> Result<JoinHandle<io::Result<R>>, NetError> {
        let net_error = |error| error_for("enter a network namespace", error);
        let file = self.file.try_clone().map_err(net_error)?;
        thread::Builder::new()
            .spawn(move || {
                enter_network(&file)?;
                drop(file);
                Ok(work())
            })
            .map_err(net_error)
    }
}

impl AsFd for NetNs {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

fn error_for(what: &str, error: io::Error) -> NetError {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => NetError::not_permitted(what, "CAP_SYS_ADMIN", error),
        _ => NetError::failed(what, error),
    }
}
