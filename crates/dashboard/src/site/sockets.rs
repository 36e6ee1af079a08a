//! Where a page listens.

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;

use wiremend_dataplane::http::Listener;
use wiremend_dataplane::socket_file::SocketFile;

use super::PageError;

/// Where a page listens, and by which names it is called.
#[derive(Clone, Debug, Default)]
pub struct PageSockets {
    /// TCP address, if it listens on one.
    pub listen: Option<SocketAddr>,
    /// Path of a Unix socket.
    pub socket: Option<PathBuf>,
    /// Names by which a proxy calls it.
    pub hosts: Vec<String>,
}

/// The sockets while the page is served.
pub(crate) struct OpenSockets {
    pub(crate) listeners: Vec<Listener>,
    /// The TCP address.
    pub(crate) address: Option<SocketAddr>,
    /// Removes its file with the value.
    file: Option<SocketFile>,
}

impl PageSockets {
    pub(crate) fn open(&self) -> Result<OpenSockets, PageError> {
        let mut open = OpenSockets { listeners: Vec::new(), address: None, file: None };
        if let Some(listen) = self.listen {
            let listener = TcpListener::bind(listen)
                .map_err(|error| PageError(format!("page at {listen}: {error}; use another port")))?;
            open.address = listener.local_addr().ok();
            open.listeners.push(Listener::Tcp(listener));
        }
        if let Some(path) = &self.socket {
            let (listener, file) = SocketFile::listen(path)
                .map_err(|error| PageError(format!("socket {}: {error}", path.display())))?;
            open.listeners.push(Listener::Unix(listener));
            open.file = Some(file);
        }
        Ok(open)
    }
}
