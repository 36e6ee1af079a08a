//! The connection to Redis, encrypted: who the server has to be, and what this node shows of itself.

use std::fmt;
use std::io;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde::Deserialize;

/// Where certificates are.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsConfig {
    /// The certificates of those who sign for servers, in PEM. No other signature is believed.
    pub ca_file: PathBuf,
    /// What this node shows to a server that asks (`tls-auth-clients`, on unless switched off), in PEM.
    pub cert_file: Option<PathBuf>,
    /// The key that belongs to it.
    pub key_file: Option<PathBuf>,
    /// The name that the server's certificate has to bear; that of its address if left out.
    pub server_name: Option<String>,
}

/// How to speak to a server so that nobody else hears it.
#[derive(Clone)]
pub struct Tls {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

/// Why there is nothing to encrypt with.
#[derive(Debug)]
pub struct Uncertified {
    /// The file.
    pub file: PathBuf,
    /// What is wrong with it, and what belongs there.
    pub why: String,
}

impl fmt::Display for Uncertified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file.display(), self.why)
    }
}

impl std::error::Error for Uncertified {}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("name", &self.name).finish_non_exhaustive()
    }
}

impl TlsConfig {
    /// What is wrong with it for a server at this address, whatever the files hold.
    pub fn check(&self, address: &str) -> Result<(), String> {
        if address.starts_with('/') {
            return Err("a socket of this machine needs no TLS; leave one of both out".to_owned());
        }
        if self.cert_file.is_some() != self.key_file.is_some() {
            return Err("cert_file and key_file belong together; give both or none".to_owned());
        }
        let name = self.name(address);
        match ServerName::try_from(name) {
            Ok(_) => Ok(()),
            Err(_) => Err(format!("`{}` is no name of a server", name.escape_debug())),
        }
    }

    fn name<'a>(&'a self, address: &'a str) -> &'a str {
        let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
        self.server_name.as_deref().unwrap_or_else(|| host.trim_start_matches('[').trim_end_matches(']'))
    }
}

impl Tls {
    /// Reads the files.
    pub fn load(config: &TlsConfig, address: &str) -> Result<Self, Uncertified> {
        let ca = &config.ca_file;
        let mut roots = RootCertStore::empty();
        for certificate in certificates(ca, "the certificate of who signed that of Redis")? {
            roots.add(certificate).map_err(|error| uncertified(ca, &error))?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("what comes with the provider suits it")
            .with_root_certificates(roots);
        let client = match (&config.cert_file, &config.key_file) {
            (Some(certificate), Some(key)) => {
                let shown = certificates(certificate, "the certificate of this node")?;
                let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| Uncertified {
                    file: key.clone(),
                    why: format!("{error}; the key of this node in PEM belongs there"),
                })?;
                builder
                    .with_client_auth_cert(shown, secret)
                    .map_err(|error| uncertified(certificate, &error))?
            }
            _ => builder.with_no_client_auth(),
        };
        let name =
            ServerName::try_from(config.name(address).to_owned()).map_err(|error| uncertified(ca, &error))?;
        Ok(Self { config: Arc::new(client), name })
    }

    pub(super) fn over(&self, stream: TcpStream) -> io::Result<StreamOwned<ClientConnection, TcpStream>> {
        let session = ClientConnection::new(Arc::clone(&self.config), self.name.clone());
        Ok(StreamOwned::new(session.map_err(io::Error::other)?, stream))
    }
}

fn certificates(file: &Path, what: &str) -> Result<Vec<CertificateDer<'static>>, Uncertified> {
    let wrong = |why: &dyn fmt::Display| Uncertified {
        file: file.to_owned(),
        why: format!("{why}; {what} in PEM belongs there"),
    };
    let found: Vec<_> =
        CertificateDer::pem_file_iter(file).and_then(Iterator::collect).map_err(|error| wrong(&error))?;
    if found.is_empty() { Err(wrong(&"it holds no certificate")) } else { Ok(found) }
}

fn uncertified(file: &Path, error: &dyn fmt::Display) -> Uncertified {
    Uncertified { file: file.to_owned(), why: error.to_string() }
}
