//! A connection that nobody else can listen to, with a real Redis and certificates of its own.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use wiremend_monitor::bus::{Connection, Place, Server, Store, Tls, TlsConfig};

use crate::redis::Redis;

#[test]
fn daemons_and_server_know_each_other_by_certificates() {
    let directory = tempfile::tempdir().unwrap();
    let Some(papers) = Papers::make(directory.path()) else { return };
    let port = free_port();
    let Some(_redis) = Redis::start(&papers.options(port)) else { return };
    let dial = |config: &TlsConfig| {
        let address = format!("localhost:{port}");
        let tls = Tls::load(config, &address).unwrap();
        Server { place: Place::Tcp(address), tls: Some(tls), login: None, patience: Duration::from_mins(1) }
    };
    let good = papers.config();
    let mut store = Store::open(&dial(&good), "leaf-1".parse().unwrap()).unwrap();
    assert!(store.lease("leaf-1", Duration::from_mins(1)).unwrap().is_some());

    let told = |config: &TlsConfig| {
        let mut connection = Connection::open(&dial(config)).unwrap();
        connection.call(&[b"PING"]).unwrap_err().to_string()
    };
    let anonymous = TlsConfig { cert_file: None, key_file: None, ..good.clone() };
    let why = told(&anonymous);
    assert!(why.contains("asks for a certificate") && why.contains("cert_file"), "{why}");
    let misled = TlsConfig { server_name: Some("elsewhere.example".into()), ..good.clone() };
    assert!(told(&misled).contains("not valid for name"), "{}", told(&misled));
    let trusting = TlsConfig { ca_file: papers.file("other-ca.pem"), ..good };
    assert!(told(&trusting).contains("UnknownIssuer"), "{}", told(&trusting));
    // Who does not encrypt is not answered.
    let plain = Server { tls: None, ..dial(&papers.config()) };
    assert!(Connection::open(&plain).unwrap().call(&[b"PING"]).is_err());
}

#[test]
fn what_is_no_certificate_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("ca.pem");
    let config = TlsConfig { ca_file: file.clone(), cert_file: None, key_file: None, server_name: None };
    let why = Tls::load(&config, "redis:6379").unwrap_err().to_string();
    assert!(why.contains("ca.pem") && why.contains("who signed that of Redis"), "{why}");
    std::fs::write(&file, "no certificate\n").unwrap();
    let why = Tls::load(&config, "redis:6379").unwrap_err().to_string();
    assert!(why.contains("it holds no certificate"), "{why}");
    let lone = TlsConfig { cert_file: Some(file.clone()), ..config.clone() };
    assert!(lone.check("redis:6379").unwrap_err().contains("belong together"));
    assert!(config.check("/run/redis.sock").unwrap_err().contains("needs no TLS"));
    assert!(config.check("[::1]:6379").is_ok() && config.check("10.0.0.1:6379").is_ok());
}

/// Certificates of one test.
struct Papers {
    directory: PathBuf,
}

impl Papers {
    fn make(directory: &Path) -> Option<Self> {
        let papers = Self { directory: directory.to_owned() };
        let key = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2";
        let made = openssl(directory, &format!("{key} -subj /CN=ca -keyout ca.key -out ca.pem"))?;
        assert!(made, "openssl makes certificates");
        openssl(directory, &format!("{key} -subj /CN=other -keyout other.key -out other-ca.pem"))?;
        std::fs::write(papers.file("san"), "subjectAltName=DNS:localhost\n").unwrap();
        for name in ["redis", "leaf-1"] {
            let request = "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
            assert!(openssl(
                directory,
                &format!("{request} -subj /CN={name} -keyout {name}.key -out {name}.csr")
            )?);
            let sign = "x509 -req -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile san";
            assert!(openssl(directory, &format!("{sign} -in {name}.csr -out {name}.pem"))?);
        }
        Some(papers)
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
        // They last as long as the process of the test.
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

/// `None` where there is no openssl, and need not be.
fn openssl(directory: &Path, words: &str) -> Option<bool> {
    match Command::new("openssl").args(words.split(' ')).current_dir(directory).output() {
        Ok(output) => Some(output.status.success()),
        Err(error) if crate::redis::may_lack() => {
            eprintln!("skipped: openssl: {error}");
            None
        }
        Err(error) => panic!("openssl: {error}"),
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
