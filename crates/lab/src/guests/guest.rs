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

use super::console::{Console, NoAnswer, Output, PATIENCE};
use super::image::Image;
use super::trouble::Trouble;

/// An emulated machine with soft-RoCE. It ends when this is dropped, or when the thread that started it does.
pub(crate) struct Guest {
    name: String,
    address: Ipv4Addr,
    process: Child,
    console: Console,
    /// What its kernel says.
    log: PathBuf,
}

/// Who a guest is, and where it is plugged in.
#[derive(Debug)]
pub(crate) struct Seat<'a> {
    /// For messages, and for the file with what its kernel says.
    pub(crate) name: &'a str,
    pub(crate) tap: Tap,
    /// In a network of 24 bits.
    pub(crate) address: Ipv4Addr,
    pub(crate) mac: MacAddr,
    /// Where it writes; whose owner removes it.
    pub(crate) directory: &'a Path,
    /// Set when nobody waits for its answers any more.
    pub(crate) stop: Arc<AtomicBool>,
}

/// The host's end of a guest's cable, made by somebody else. Frames on it are whole: no checksum is left to be filled in.
#[derive(Debug)]
pub(crate) enum Tap {
    /// Open already, without a header before frames: its namespace does not matter.
    Open(OwnedFd),
    /// In the namespace of the thread that starts the guest, and there already.
    #[cfg(test)]
    Named(String),
}

/// RoCE makes 1024 bytes of payload of it.
const MTU: u32 = 1500;
const MEMORY_MB: u32 = 320;
const COUNTERS: &str = "/sys/class/infiniband/rxe0/ports/1/hw_counters";
const LOG_TAIL_BYTES: usize = 500;
/// Commands that only look at something.
pub(super) const SHORT: Duration = Duration::from_mins(2);

impl Guest {
    /// Switches it on; [`Guest::wait_ready`] says when it can be used.
    pub(crate) fn start(image: &Image<'_>, seat: Seat<'_>) -> Result<Self, Trouble> {
        let log = seat.directory.join(format!("{}.log", seat.name));
        let (near, far) = UnixStream::pair().map_err(Trouble::io("cannot make a line to a guest"))?;
        let mut command = machine(image, &log);
        command.arg("-append").arg(format!(
            "console=ttyS0 quiet panic=-1 mitigations=off tsc=reliable wiremend.address={}/24 wiremend.mtu={MTU}",
            seat.address
        ));
        let (netdev, input) = match seat.tap {
            Tap::Open(file) => ("tap,id=net,fd=0".to_owned(), Stdio::from(file)),
            #[cfg(test)]
            Tap::Named(name) => {
                (format!("tap,id=net,ifname={name},script=no,downscript=no,vnet_hdr=off"), Stdio::null())
            }
        };
        command.arg("-netdev").arg(netdev);
        command.arg("-device").arg(format!("virtio-net-pci,netdev=net,mac={},romfile=", seat.mac));
        let errors = seat.directory.join(format!("{}.err", seat.name));
        let errors = fs::File::create(&errors).map_err(Trouble::file(&errors))?;
        command.stdin(input).stdout(Stdio::from(OwnedFd::from(far))).stderr(errors);
        let process = command.spawn().map_err(Trouble::io("cannot start qemu-system-x86_64"))?;
        let (name, address) = (seat.name.to_owned(), seat.address);
        Ok(Self { name, address, process, console: Console::new(near, seat.stop), log })
    }

    /// Waits until soft-RoCE is up.
    pub(crate) fn wait_ready(&mut self, limit: Duration) -> Result<(), Trouble> {
        let line = self.console.read_line(Instant::now() + limit).map_err(|why| self.trouble(why, limit))?;
        if line == "ready" {
            return Ok(());
        }
        Err(Trouble::Ended { guest: self.name.clone(), said: line })
    }

    /// Runs a command in its shell, for at most so long.
    pub(crate) fn run(&mut self, command: &str, limit: Duration) -> Result<Output, Trouble> {
        self.console.run(command, limit).map_err(|why| self.trouble(why, limit + PATIENCE))
    }

    /// Runs a command that has to work: what it wrote.
    pub(crate) fn read(&mut self, command: &str, limit: Duration) -> Result<String, Trouble> {
        let Output { text, status } = self.run(command, limit)?;
        if status == 0 {
            return Ok(text);
        }
        let (guest, command) = (self.name.clone(), command.to_owned());
        Err(Trouble::Refused { guest, command, status, said: tail(text.trim()).to_owned() })
    }

    /// What soft-RoCE has counted since the guest started: `sent_pkts`, `completer_retry_err` and so on.
    pub(crate) fn counters(&mut self) -> Result<BTreeMap<String, u64>, Trouble> {
        let text = self.read(&format!("cd {COUNTERS} && grep . *"), SHORT)?;
        counted(&text)
            .ok_or_else(|| Trouble::Unexpected(format!("counters of guest {}: {}", self.name, tail(&text))))
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// The process that emulates it.
    #[cfg(test)]
    pub(crate) fn process_id(&self) -> u32 {
        self.process.id()
    }

    fn trouble(&mut self, why: NoAnswer, after: Duration) -> Trouble {
        let guest = self.name.clone();
        let log = [self.log.clone(), self.log.with_extension("err")]
            .map(|path| fs::read(path).unwrap_or_default())
            .concat();
        let log = String::from_utf8_lossy(&log);
        let said = tail(log.trim()).to_owned();
        match why {
            NoAnswer::Late => Trouble::Silent { guest, after, said },
            NoAnswer::Gone => Trouble::Ended { guest, said },
            NoAnswer::Unreadable(line) => {
                Trouble::Unexpected(format!("guest {guest} said `{}` on its line", tail(&line)))
            }
        }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // It has nothing to save. Both fail only if it has ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The machine without its cable: emulated on any processor, with the log on its serial line and commands on a virtio port.
fn machine(image: &Image<'_>, log: &Path) -> Command {
    let parts = image.parts;
    let mut command = Command::new(&parts.setpriv);
    command.args(["--pdeathsig", "KILL"]).arg(&parts.qemu);
    // Ctrl-C is for us, who then end it.
    command.process_group(0);
    command.args(["-accel", "tcg", "-machine", "q35", "-cpu", "max", "-smp", "1"]);
    command.arg("-m").arg(MEMORY_MB.to_string());
    command.args(["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]);
    command.arg("-kernel").arg(parts.kernel.image()).arg("-initrd").arg(&image.root);
    command.arg("-serial").arg(format!("file:{}", log.display()));
    // Our end of the line is its standard output; there is no other socket that somebody could find. It is no serial line: an
    // emulated UART loses characters while its guest is busy, and with them whole commands.
    command.args(["-chardev", "socket,id=line,fd=1", "-device", "virtio-serial-pci"]);
    command.args(["-device", "virtserialport,chardev=line"]);
    command
}

/// `NAME:VALUE` a line, as `grep` writes it.
fn counted(text: &str) -> Option<BTreeMap<String, u64>> {
    let pair = |line: &str| {
        let (name, value) = line.split_once(':')?;
        Some((name.to_owned(), value.trim().parse().ok()?))
    };
    text.lines().map(pair).collect::<Option<BTreeMap<_, _>>>().filter(|counters| !counters.is_empty())
}

/// The last words of a long text.
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
        let counters = counted("sent_pkts:12\nrcvd_pkts:7\n").unwrap();
        assert_eq!(
            counters.into_iter().collect::<Vec<_>>(),
            [("rcvd_pkts".into(), 7), ("sent_pkts".into(), 12)]
        );
        for text in ["", "sent_pkts\n", "sent_pkts:x\n", "a:1\n\n"] {
            assert_eq!(counted(text), None, "{text}");
        }
    }

    #[test]
    fn the_end_of_a_text_has_whole_characters() {
        assert_eq!(tail("short"), "short");
        let long = "ü".repeat(LOG_TAIL_BYTES) + "x";
        assert_eq!(tail(&long).len(), LOG_TAIL_BYTES - 1 + LOG_TAIL_BYTES % 2);
    }
}
