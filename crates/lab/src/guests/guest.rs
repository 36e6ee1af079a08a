//! A running guest.

use std::collections::BTreeMap;
use std::fs;
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use wiremend_wire::MacAddr;

use super::console::{Console, ConsoleError, Output, REPLY_EXTRA_TIME};
use super::error::GuestError;
use super::image::Image;

/// A running machine with soft-RoCE. It ends when this value is dropped or the thread that started it ends.
pub struct Guest {
    name: String,
    address: Ipv4Addr,
    process: Child,
    console: Console,
    log: PathBuf,
}

/// Settings of a guest.
#[derive(Debug)]
pub struct GuestConfig<'a> {
    /// Name, for its log and in errors.
    pub name: &'a str,
    /// Its network.
    pub tap: TapDevice,
    /// IP address with prefix length 24.
    pub address: Ipv4Addr,
    /// MAC address.
    pub mac: MacAddr,
    /// Directory of its logs.
    pub directory: &'a Path,
    /// Stop flag, which ends all waits.
    pub stop: Arc<AtomicBool>,
}

/// TAP device of a guest, created by the caller, without offloads.
#[derive(Debug)]
pub enum TapDevice {
    /// An open TAP file without packet headers, in any namespace.
    Open(OwnedFd),
    /// An existing interface in the namespace of the thread that starts the guest.
    Named(String),
}

/// Gives a RoCE MTU of 1024 bytes.
const MTU: u32 = 1500;
/// Memory beside the root file system.
const MEMORY_MB: u64 = 300;
const COUNTERS: &str = "/sys/class/infiniband/rxe0/ports/1/hw_counters";
const LOG_TAIL_BYTES: usize = 500;
pub(super) const SHORT_LIMIT: Duration = Duration::from_mins(2);

impl Guest {
    /// Starts a guest. It is ready later: [`Guest::wait_ready`].
    pub fn start(image: &Image<'_>, config: GuestConfig<'_>) -> Result<Self, GuestError> {
        let log = config.directory.join(format!("{}.log", config.name));
        let (near, far) =
            UnixStream::pair().map_err(GuestError::io("cannot create the command channel of a guest"))?;
        let mut command = machine(image, &log);
        command.arg("-append").arg(format!(
            "console=ttyS0 quiet panic=-1 mitigations=off tsc=reliable wiremend.address={}/24 wiremend.mtu={MTU}",
            config.address
        ));
        let (netdev, input) = match config.tap {
            TapDevice::Open(file) => ("tap,id=net,fd=0".to_owned(), Stdio::from(file)),
            TapDevice::Named(name) => {
                (format!("tap,id=net,ifname={name},script=no,downscript=no,vnet_hdr=off"), Stdio::null())
            }
        };
        command.arg("-netdev").arg(netdev);
        command.arg("-device").arg(format!("virtio-net-pci,netdev=net,mac={},romfile=", config.mac));
        let errors = config.directory.join(format!("{}.err", config.name));
        let errors = fs::File::create(&errors).map_err(GuestError::file(&errors))?;
        command.stdin(input).stdout(Stdio::from(OwnedFd::from(far))).stderr(errors);
        let process = command.spawn().map_err(GuestError::io("cannot start qemu-system-x86_64"))?;
        let (name, address) = (config.name.to_owned(), config.address);
        Ok(Self { name, address, process, console: Console::new(near, config.stop), log })
    }

    /// Waits until soft-RoCE is up.
    pub fn wait_ready(&mut self, limit: Duration) -> Result<(), GuestError> {
        let line = self.console.read_line(Instant::now() + limit).map_err(|why| self.error(why, limit))?;
        if line == "ready" {
            return Ok(());
        }
        Err(GuestError::Ended { guest: self.name.clone(), output: line })
    }

    /// Runs a command in the guest's shell; after `limit` it is killed.
    pub fn run(&mut self, command: &str, limit: Duration) -> Result<Output, GuestError> {
        self.console.run(command, limit).map_err(|why| self.error(why, limit + REPLY_EXTRA_TIME))
    }

    /// Runs a command that must succeed, and returns its output.
    pub fn read(&mut self, command: &str, limit: Duration) -> Result<String, GuestError> {
        let Output { text, status } = self.run(command, limit)?;
        if status == 0 {
            return Ok(text);
        }
        let (guest, command) = (self.name.clone(), command.to_owned());
        Err(GuestError::Refused { guest, command, status, output: tail(text.trim()).to_owned() })
    }

    /// Reads the counters of soft-RoCE: `sent_pkts`, `completer_retry_err` and others.
    pub fn counters(&mut self) -> Result<BTreeMap<String, u64>, GuestError> {
        let text = self.read(&format!("cd {COUNTERS} && grep . *"), SHORT_LIMIT)?;
        parse_counters(&text).ok_or_else(|| {
            GuestError::Unexpected(format!("counters of guest {}: {}", self.name, tail(&text)))
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn address(&self) -> Ipv4Addr {
        self.address
    }

    #[cfg(test)]
    pub(crate) fn process_id(&self) -> u32 {
        self.process.id()
    }

    fn error(&mut self, why: ConsoleError, after: Duration) -> GuestError {
        let guest = self.name.clone();
        let log = [self.log.clone(), self.log.with_extension("err")]
            .map(|path| fs::read(path).unwrap_or_default())
            .concat();
        let log = String::from_utf8_lossy(&log);
        let output = tail(log.trim()).to_owned();
        match why {
            ConsoleError::Timeout => GuestError::Timeout { guest, after, output },
            ConsoleError::Closed => GuestError::Ended { guest, output },
            ConsoleError::Malformed(line) => {
                GuestError::Unexpected(format!("guest {guest} sent a malformed reply: `{}`", tail(&line)))
            }
        }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // Both fail only if it has ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// QEMU command line without the network: kernel log on the serial port, commands on a virtio port.
fn machine(image: &Image<'_>, log: &Path) -> Command {
    let files = image.files;
    let mut command = Command::new(&files.setpriv);
    command.args(["--pdeathsig", "KILL"]).arg(&files.qemu);
    // Ctrl-C goes to this process, which ends the guest.
    command.process_group(0);
    command.args(["-accel", "tcg", "-machine", "q35", "-cpu", "max", "-smp", "1"]);
    command.arg("-m").arg((MEMORY_MB + 2 * (image.bytes >> 20)).to_string());
    command.args(["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]);
    command.arg("-kernel").arg(files.kernel.image()).arg("-initrd").arg(&image.root);
    command.arg("-serial").arg(format!("file:{}", log.display()));
    // The command channel is the standard output of QEMU, so no other process can open it. It is a virtio
    // port, because an emulated UART loses characters while the guest is busy.
    command.args(["-chardev", "socket,id=line,fd=1", "-device", "virtio-serial-pci"]);
    command.args(["-device", "virtserialport,chardev=line"]);
    command
}

fn parse_counters(text: &str) -> Option<BTreeMap<String, u64>> {
    let pair = |line: &str| {
        let (name, value) = line.split_once(':')?;
        Some((name.to_owned(), value.trim().parse().ok()?))
    };
    text.lines().map(pair).collect::<Option<BTreeMap<_, _>>>().filter(|counters| !counters.is_empty())
}

fn tail(text: &str) -> &str {
    let start = text.len().saturating_sub(LOG_TAIL_BYTES);
    let start = (start..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    &text[start..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_read_by_name() {
        let counters = parse_counters("sent_pkts:12\nrcvd_pkts:7\n").unwrap();
        assert_eq!(
            counters.into_iter().collect::<Vec<_>>(),
            [("rcvd_pkts".into(), 7), ("sent_pkts".into(), 12)]
        );
        for text in ["", "sent_pkts\n", "sent_pkts:x\n", "a:1\n\n"] {
            assert_eq!(parse_counters(text), None, "{text}");
        }
    }

    #[test]
    fn tail_has_whole_characters() {
        assert_eq!(tail("short"), "short");
        let long = "ü".repeat(LOG_TAIL_BYTES) + "x";
        assert_eq!(tail(&long).len(), LOG_TAIL_BYTES - 1 + LOG_TAIL_BYTES % 2);
    }
}
