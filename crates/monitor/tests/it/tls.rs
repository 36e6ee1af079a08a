//! TLS with a real Redis and test certificates.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use wiremend_monitor::redis::{RedisConnection, RedisServer, ServerAddress, Store, TlsClient, TlsConfig};

use crate::test_redis::TestRedis;

#[test]
fn client_and_server_authenticate_by_certificates() {
    let directory = tempfile::tempdir().unwrap();
    let Some(certificates) = Certificates::make(directory.path()) else { return };
    let port = free_port();
    let Some(_redis) = TestRedis::start(&certificates.options(port)) else { return };
    let dial = |config: &TlsConfig| {
        let address = format!("localhost:{port}");
        let tls = TlsClient::load(config, &address).unwrap();
        RedisServer {
            address: ServerAddress::Tcp(address),
            tls: Some(tls),
            login: None,
            timeout: Duration::from_mins(1),
        }
    };
    let good = certificates.config();
    let mut store = Store::open(&dial(&good), "leaf-1".parse().unwrap()).unwrap();
    assert!(store.lease("leaf-1", Duration::from_mins(1)).unwrap().is_some());

    let refusal = |config: &TlsConfig| {
        let mut connection = RedisConnection::open(&dial(config)).unwrap();
        connection.call(&[b"PING"]).unwrap_err().to_string()
    };
    let anonymous = TlsConfig { cert_file: None, key_file: None, ..good.clone() };
    let reason = refusal(&anonymous);
    assert!(reason.contains("requires a client certificate") && reason.contains("cert_file"), "{reason}");
    let misled = TlsConfig { server_name: Some("elsewhere.example".into()), ..good.clone() };
    assert!(refusal(&misled).contains("not valid for name"), "{}", refusal(&misled));
    let trusting = TlsConfig { ca_file: certificates.file("other-ca.pem"), ..good };
    assert!(refusal(&trusting).contains("UnknownIssuer"), "{}", refusal(&trusting));
    // A client without TLS gets no reply.
    let plain = RedisServer { tls: None, ..dial(&certificates.config()) };
    assert!(RedisConnection::open(&plain).unwrap().call(&[b"PING"]).is_err());
}

#[test]
fn bad_certificate_files_are_reported() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("ca.pem");
    let config = TlsConfig { ca_file: file.clone(), cert_file: None, key_file: None, server_name: None };
    let reason = TlsClient::load(&config, "redis:6379").unwrap_err().to_string();
    assert!(
        reason.contains("ca.pem") && reason.contains("the CA certificate of the Redis server"),
        "{reason}"
    );
    std::fs::write(&file, "no certificate\n").unwrap();
    let reason = TlsClient::load(&config, "redis:6379").unwrap_err().to_string();
    assert!(reason.contains("no certificate found"), "{reason}");
    let lone = TlsConfig { cert_file: Some(file.clone()), ..config.clone() };
    assert!(lone.check("redis:6379").unwrap_err().contains("belong together"));
    assert!(config.check("/run/redis.sock").unwrap_err().contains("needs no TLS"));
    assert!(config.check("[::1]:6379").is_ok() && config.check("10.0.0.1:6379").is_ok());
}

/// Certificates of one test.
struct Certificates {
    directory: PathBuf,
}

impl Certificates {
    fn make(directory: &Path) -> Option<Self> {
        let certificates = Self { directory: directory.to_owned() };
        let key = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2";
        let made = openssl(directory, &format!("{key} -subj /CN=ca -keyout ca.key -out ca.pem"))?;
        assert!(made, "openssl creates certificates");
        openssl(directory, &format!("{key} -subj /CN=other -keyout other.key -out other-ca.pem"))?;
        std::fs::write(certificates.file("san"), "subjectAltName=DNS:localhost\n").unwrap();
        for name in ["redis", "leaf-1"] {
            let request = "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
            assert!(openssl(
                directory,
                &format!("{request} -subj /CN={name} -keyout {name}.key -out {name}.csr")
            )?);
            let sign = "x509 -req -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile san";
            assert!(openssl(directory, &format!("{sign} -in {name}.csr -out {name}.pem"))?);
        }
        Some(certificates)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    fn config(&self) -> TlsConfig {
        TlsConfig {
            ca_file: self.file("ca.pem"),
            cert_file: Some(self.file("leaf-1.pem")),
            key_file: Some(self.file("leaf-1.key")),
            server_name: None,
        }
    }

    fn options(&self, port: u16) -> Vec<&'static str> {
        // Leaked: the options live as long as the test process.
        let leaked = |text: String| -> &'static str { Box::leak(text.into_boxed_str()) };
        let path = |name: &str| leaked(self.file(name).to_str().unwrap().to_owned());
        vec![
            "--tls-port",
            leaked(port.to_string()),
            "--tls-cert-file",
            path("redis.pem"),
            "--tls-key-file",
            path("redis.key"),
            "--tls-ca-cert-file",
            path("ca.pem"),
            "--bind",
            "127.0.0.1",
        ]
    }
}

/// Runs openssl; `None` if it is not installed and not required.
fn openssl(directory: &Path, words: &str) -> Option<bool> {
    match Command::new("openssl").args(words.split(' ')).current_dir(directory).output() {
        Ok(output) => Some(output.status.success()),
        Err(error) if crate::test_redis::may_lack() => {
            eprintln!("skipped: openssl: {error}");
            None
        }
        Err(error) => panic!("openssl: {error}"),
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
