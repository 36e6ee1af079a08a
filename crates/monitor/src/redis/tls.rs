//! TLS of the connection to Redis: trusted CAs and the client certificate.

use std::fmt;
use std::io;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde::Deserialize;

/// Certificate files.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsConfig {
    /// CA certificates in PEM that may sign the server's certificate.
    pub ca_file: PathBuf,
    /// Client certificate in PEM, required by servers with `tls-auth-clients yes` (the default).
    pub cert_file: Option<PathBuf>,
    /// Private key of the client certificate.
    pub key_file: Option<PathBuf>,
    /// Name in the server's certificate. Default: the host of the address.
    pub server_name: Option<String>,
}

/// TLS client settings for one server.
#[derive(Clone)]
pub struct TlsClient {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

/// Why TLS files cannot be used.
#[derive(Debug)]
pub struct TlsFileError {
    /// The file.
    pub file: PathBuf,
    /// What is wrong, and what the file must contain.
    pub reason: String,
}

impl fmt::Display for TlsFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file.display(), self.reason)
    }
}

impl std::error::Error for TlsFileError {}

impl fmt::Debug for TlsClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsClient").field("name", &self.name).finish_non_exhaustive()
    }
}

impl TlsConfig {
    /// Checks the settings for a server at this address without reading the files.
    pub fn check(&self, address: &str) -> Result<(), String> {
        if address.starts_with('/') {
            return Err("a Unix socket needs no TLS; remove [redis.tls] or use HOST:PORT".to_owned());
        }
        if self.cert_file.is_some() != self.key_file.is_some() {
            return Err("cert_file and key_file belong together; set both or neither".to_owned());
        }
        let name = self.name(address);
        match ServerName::try_from(name) {
            Ok(_) => Ok(()),
            Err(_) => Err(format!("`{}` is not a valid server name", name.escape_debug())),
        }
    }

    fn name<'a>(&'a self, address: &'a str) -> &'a str {
        let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
        self.server_name.as_deref().unwrap_or_else(|| host.trim_start_matches('[').trim_end_matches(']'))
    }
}

impl TlsClient {
    /// Loads the files.
    pub fn load(config: &TlsConfig, address: &str) -> Result<Self, TlsFileError> {
        let ca = &config.ca_file;
        let mut roots = RootCertStore::empty();
        for certificate in certificates(ca, "the CA certificate of the Redis server")? {
            roots.add(certificate).map_err(|error| tls_file_error(ca, &error))?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("the provider supports the default versions")
            .with_root_certificates(roots);
        let client = match (&config.cert_file, &config.key_file) {
            (Some(certificate), Some(key)) => {
                let shown = certificates(certificate, "the certificate of this node")?;
                let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| TlsFileError {
                    file: key.clone(),
                    reason: format!("{error}; the file must contain the private key of this node in PEM"),
                })?;
                builder
                    .with_client_auth_cert(shown, secret)
                    .map_err(|error| tls_file_error(certificate, &error))?
            }
            _ => builder.with_no_client_auth(),
        };
        let name = ServerName::try_from(config.name(address).to_owned())
            .map_err(|error| tls_file_error(ca, &error))?;
        Ok(Self { config: Arc::new(client), name })
    }

    pub(super) fn wrap(&self, stream: TcpStream) -> io::Result<StreamOwned<ClientConnection, TcpStream>> {
        let session = ClientConnection::new(Arc::clone(&self.config), self.name.clone());
        Ok(StreamOwned::new(session.map_err(io::Error::other)?, stream))
    }
}

fn certificates(file: &Path, what: &str) -> Result<Vec<CertificateDer<'static>>, TlsFileError> {
    let wrong = |reason: &dyn fmt::Display| TlsFileError {
        file: file.to_owned(),
        reason: format!("{reason}; the file must contain {what} in PEM"),
    };
    let found: Vec<_> =
        CertificateDer::pem_file_iter(file).and_then(Iterator::collect).map_err(|error| wrong(&error))?;
    if found.is_empty() { Err(wrong(&"no certificate found")) } else { Ok(found) }
}

fn tls_file_error(file: &Path, error: &dyn fmt::Display) -> TlsFileError {
    TlsFileError { file: file.to_owned(), reason: error.to_string() }
}
