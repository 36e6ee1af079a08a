//! A listening Unix socket in the file system.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// Name of a listening socket. Dropping it removes the socket.
#[derive(Debug)]
pub struct SocketFile(PathBuf);

impl SocketFile {
    /// Listens at `path` and replaces the socket of a process that has ended. Owner and group may connect.
    pub fn listen(path: &Path) -> io::Result<(UnixListener, Self)> {
        if UnixStream::connect(path).is_ok() {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        match fs::symlink_metadata(path) {
            Ok(found) if found.file_type().is_socket() => fs::remove_file(path)?,
            Ok(_) => {
                return Err(io::Error::new(
                    io::ErrorKind::AlreadyExists,
                    "a file that is no socket is there",
                ));
            }
            Err(_) => {}
        }
        let listener = UnixListener::bind(path)?;
        fs::set_permissions(path, Permissions::from_mode(0o660))?;
        Ok((listener, Self(path.to_owned())))
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sockets_that_nobody_serves_are_replaced() {
        let path = std::env::temp_dir().join(format!("wiremend-socket-file-{}", std::process::id()));
        drop(UnixListener::bind(&path).unwrap());
        let (listener, file) = SocketFile::listen(&path).unwrap();
        assert_eq!(SocketFile::listen(&path).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        drop((listener, file));
        fs::write(&path, "notes").unwrap();
        assert_eq!(SocketFile::listen(&path).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"notes");
        fs::remove_file(&path).unwrap();
    }
}
