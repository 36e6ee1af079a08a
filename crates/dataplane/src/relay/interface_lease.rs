//! Exclusive use of the two interfaces of a relay, and restoring them afterwards.
//!
//! The relay stores the previous settings before it changes them, in one directory per interface:
//!
//! ```text
//!   /run/wiremend/eth1/lock, before.json
//!   /run/wiremend/eth2/lock, before.json, control      (the link's directory also has the control socket)
//! ```
//!
//! The supervisor shares the lock with the forwarding process; the kernel releases it when both have ended.
//! Relays with different run directories exclude each other by a socket name per interface, which the kernel
//! keeps for each network namespace and releases in the same way.
//! `before.json` stays until everything is restored. So the next start or [`restore`] finds the settings from
//! before the first relay.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread::park_timeout;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use wiremend_units::Rate;

use super::traffic_owner::redirect_both;
use super::{RelayError, Settings, ports};
use crate::net::offload;
use crate::net::{self, Interface, NetError, SavedConfig, tc};
use crate::sys::capability::Capability;
use crate::sys::credentials;

/// Exclusive use of the two interfaces of a relay.
#[derive(Debug)]
pub struct InterfaceLease {
    /// The LAN, then the link.
    ends: [LeasedInterface; 2],
    rate: Rate,
    /// Whether an earlier relay has left settings to restore.
    inherited: bool,
}

#[derive(Debug)]
struct LeasedInterface {
    directory: PathBuf,
    record: RestoreRecord,
    lock: File,
    name_lock: UnixListener,
}

/// Contents of `before.json`: the settings to restore on an interface.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct RestoreRecord {
    lan: String,
    link: String,
    ethertype: u16,
    saved: SavedConfig,
    /// Whether the relay took the interface down because the other one lost its carrier.
    taken_down: bool,
}

/// The interfaces of a relay that were restored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Restored {
    /// The LAN interface.
    pub lan: String,
    /// The link interface.
    pub link: String,
    /// Whether the kernel continues to forward between them.
    pub forwards: bool,
}

const RECORD: &str = "before.json";
const LOCK: &str = "lock";
const WAIT_STEPS: u32 = 50;
const STEP: Duration = Duration::from_millis(10);

impl InterfaceLease {
    /// Takes the two interfaces. On error all settings are unchanged. With [`Settings::wait`] it waits for
    /// the interfaces to come up, until `stop` returns true.
    pub fn take(settings: &Settings, stop: &dyn Fn() -> bool) -> Result<Self, RelayError> {
        ports::check(settings)?;
        require_capabilities()?;
        let names = [&settings.lan, &settings.link];
        let [lan, link] = names.map(|name| InterfaceLock::acquire(&settings.run_dir, name));
        let leases = [lan?, link?];
        for lease in &leases {
            lease.recover(settings)?;
        }
        let [_, link] = await_ready(settings, stop)?;
        let rate = ports::rate(settings, &link)?;
        for name in names {
            ports::check_conflicts(name, settings)?;
        }
        let inherited = leases.iter().any(|lease| lease.earlier.is_some());
        let [lan, link] = leases.map(|locked| locked.lease(settings));
        let hold = Self { ends: [lan?, link?], rate, inherited };
        for end in &hold.ends {
            if let Err(refused) = end.record.saved.take_over() {
                // Report the first error only.
                let _ = hold.cancel();
                return Err(refused.into());
            }
        }
        Ok(hold)
    }

    /// Rate of the link.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    pub(super) fn locks(&self) -> [BorrowedFd<'_>; 4] {
        let [lan, link] = &self.ends;
        [lan.lock.as_fd(), link.lock.as_fd(), lan.name_lock.as_fd(), link.name_lock.as_fd()]
    }

    pub(super) fn forward(&self) -> Result<(), RelayError> {
        let [_, LeasedInterface { record, .. }] = &self.ends;
        Ok(redirect_both(&record.lan, &record.link, record.ethertype)?)
    }

    /// Brings one interface (0: the LAN) down or up. Records the change first.
    pub(super) fn set_up(&mut self, end: usize, up: bool) -> Result<(), RelayError> {
        let end = &mut self.ends[end];
        end.record.taken_down = !up;
        end.write()?;
        Ok(net::set_up(&end.record.saved.interface, up)?)
    }

    /// Lets the kernel forward and restores offloads. [`restore`] or the next start restores the rest.
    pub(super) fn hand_to_kernel(&mut self) -> Result<(), RelayError> {
        self.forward()?;
        for at in 0..2 {
            if self.ends[at].record.taken_down {
                self.set_up(at, true)?;
            }
            self.ends[at].record.restore_offloads()?;
        }
        Ok(())
    }

    /// Restores the interfaces to their settings before the first relay.
    pub(super) fn restore_all(&self) -> Result<(), RelayError> {
        for end in &self.ends {
            end.record.restore_all()?;
            remove(&end.directory)?;
        }
        Ok(())
    }

    pub(super) fn cancel(mut self) -> Result<(), RelayError> {
        if self.inherited { self.hand_to_kernel() } else { self.restore_all() }
    }
}
/// Restores the interfaces of relays that no longer run: the relay of `link`, or all of them. With `forward`
/// the kernel continues to forward, and only offloads and the up state are restored.
pub fn restore(run_dir: &Path, link: Option<&str>, forward: bool) -> Result<Vec<Restored>, RelayError> {
    require_capabilities()?;
    let mut done: Vec<Restored> = Vec::new();
    let records: Vec<_> = match link {
        Some(link) => read(&run_dir.join(link))?.into_iter().collect(),
        None => all(run_dir)?,
    };
    if records.is_empty()
        && let Some(link) = link
    {
        return Ok(clear_unrecorded_rules(link)?.into_iter().collect());
    }
    for RestoreRecord { lan, link, ethertype, .. } in records {
        if done.iter().any(|restored| restored.link == link) {
            continue;
        }
        let leases = [&lan, &link].map(|name| InterfaceLock::acquire(run_dir, name));
        for lease in leases {
            let lease = lease?;
            let Some(record) = &lease.earlier else { continue };
            if forward {
                record.bring_up()?;
                record.restore_offloads()?;
            } else {
                record.restore_all()?;
                remove(&lease.directory)?;
            }
        }
        if forward {
            redirect_both(&lan, &link, ethertype)?;
        }
        done.push(Restored { lan, link, forwards: forward });
    }
    Ok(done)
}

/// Removes the tc rules of a relay that has left no record in this run directory.
fn clear_unrecorded_rules(link: &str) -> Result<Option<Restored>, RelayError> {
    let _lock = lock_name(link)?;
    let Some(rule) = tc::IngressRule::read(link)? else { return Ok(None) };
    let mut lan = String::new();
    if let tc::IngressRule::Redirect { to, .. } = rule {
        tc::clear(&to)?;
        lan = to;
    }
    tc::clear(link)?;
    Ok(Some(Restored { lan, link: link.into(), forwards: false }))
}

/// A locked interface, with the record of an earlier relay.
struct InterfaceLock {
    name: String,
    directory: PathBuf,
    lock: File,
    name_lock: UnixListener,
    earlier: Option<RestoreRecord>,
}

impl InterfaceLock {
    fn acquire(run_dir: &Path, name: &str) -> Result<Self, RelayError> {
        let directory = run_dir.join(name);
        let made = DirBuilder::new().recursive(true).mode(0o750).create(&directory);
        made.map_err(RelayError::io(format!("create the directory {}", directory.display())))?;
        let lock = lock(&directory, name)?;
        let name_lock = lock_name(name)?;
        let earlier = read(&directory)?;
        Ok(Self { name: name.into(), directory, lock, name_lock, earlier })
    }

    /// Undoes changes of an earlier relay that would disturb this one.
    fn recover(&self, settings: &Settings) -> Result<(), RelayError> {
        let Some(earlier) = &self.earlier else { return Ok(()) };
        earlier.bring_up()?;
        // The earlier relay may have used another pair of interfaces.
        let others = [&earlier.lan, &earlier.link].into_iter();
        for other in others.filter(|name| ![&settings.lan, &settings.link].contains(name)) {
            if Interface::by_name(other).is_ok() {
                tc::clear(other)?;
            }
        }
        Ok(())
    }

    /// Writes the record. It keeps the settings from before the first relay.
    fn lease(self, settings: &Settings) -> Result<LeasedInterface, RelayError> {
        let mut saved = SavedConfig::read(&self.name, settings.conflicting_offloads())?;
        if let Some(RestoreRecord { saved: before, .. }) = self.earlier {
            let more = before.offloads.into_iter().filter(|name| !saved.offloads.contains(name));
            saved.offloads.extend(more.collect::<Vec<_>>());
            saved = SavedConfig { offloads: saved.offloads, ..before };
        }
        let record = RestoreRecord {
            lan: settings.lan.clone(),
            link: settings.link.clone(),
            ethertype: settings.codec.ethertype,
            saved,
            taken_down: false,
        };
        let (directory, lock, name_lock) = (self.directory, self.lock, self.name_lock);
        let held = LeasedInterface { directory, record, lock, name_lock };
        held.write()?;
        Ok(held)
    }
}

impl LeasedInterface {
    fn write(&self) -> Result<(), RelayError> {
        let path = self.directory.join(RECORD);
        let written = replace(&path, &serde_json::to_vec_pretty(&self.record).expect("plain values"));
        written.map_err(RelayError::io(format!("use {}", path.display())))
    }
}

impl RestoreRecord {
    fn restore_all(&self) -> Result<(), RelayError> {
        if self.is_gone() {
            return Ok(());
        }
        tc::clear(&self.saved.interface)?;
        self.bring_up()?;
        Ok(self.saved.restore()?)
    }

    fn bring_up(&self) -> Result<(), RelayError> {
        if self.taken_down && !self.is_gone() {
            net::set_up(&self.saved.interface, true)?;
        }
        Ok(())
    }

    fn restore_offloads(&self) -> Result<(), RelayError> {
        if self.is_gone() {
            return Ok(());
        }
        let on: Vec<_> = self.saved.offloads.iter().map(|name| (name.as_str(), true)).collect();
        Ok(offload::set(&self.saved.interface, &on)?)
    }

    /// Returns whether the interface no longer exists, so that there is nothing to restore.
    fn is_gone(&self) -> bool {
        matches!(Interface::by_name(&self.saved.interface), Err(NetError::NoSuchInterface { .. }))
    }
}

fn require_capabilities() -> Result<(), RelayError> {
    let needed = [Capability::NetAdmin, Capability::NetRaw];
    let missing: Vec<_> = needed
        .into_iter()
        .filter(|capability| !capability.is_held().unwrap_or(true))
        .map(Capability::name)
        .collect();
    if missing.is_empty() { Ok(()) } else { Err(RelayError::Privilege(missing)) }
}

fn await_ready(settings: &Settings, stop: &dyn Fn() -> bool) -> Result<[Interface; 2], RelayError> {
    let mut steps = 0;
    loop {
        let both = ports::check(settings)?;
        let Err(why) = both.iter().try_for_each(ports::check_ready) else { return Ok(both) };
        // An interface that was just brought up needs a moment. Longer waits need `Settings::wait`.
        if !settings.wait && (steps >= WAIT_STEPS || matches!(why, RelayError::Down(_))) {
            return Err(why);
        }
        if stop() {
            return Err(RelayError::Stopped);
        }
        steps += 1;
        park_timeout(STEP);
    }
}

/// Locks the directory of an interface. Waits a moment for a relay that is just ending.
fn lock(directory: &Path, name: &str) -> Result<File, RelayError> {
    let path = directory.join(LOCK);
    let io = |source| RelayError::Io { what: format!("use {}", path.display()), source };
    let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o640).clone();
    let mut file = options.open(&path).map_err(io)?;
    for _ in 0..WAIT_STEPS {
        match file.try_lock() {
            Ok(()) => {
                let id = std::process::id().to_string();
                file.set_len(0).and_then(|()| file.write_all(id.as_bytes())).map_err(io)?;
                return Ok(file);
            }
            Err(TryLockError::WouldBlock) => park_timeout(STEP),
            Err(TryLockError::Error(error)) => return Err(io(error)),
        }
    }
    let holder = fs::read_to_string(&path).unwrap_or_default();
    Err(in_use(name, if holder.is_empty() { "with unknown id" } else { &holder }))
}

fn in_use(name: &str, holder: &str) -> RelayError {
    RelayError::InUse {
        name: name.into(),
        by: format!("another relay (process {holder})"),
        remedy: format!("kill {holder}"),
    }
}

/// Locks an interface against relays with other run directories.
fn lock_name(name: &str) -> Result<UnixListener, RelayError> {
    let io = |source| RelayError::Io { what: format!("lock `{name}`"), source };
    let index = Interface::by_name(name)?.index;
    let address = SocketAddr::from_abstract_name(format!("wiremend/relay/{index}")).map_err(io)?;
    for _ in 0..WAIT_STEPS {
        match UnixListener::bind_addr(&address) {
            Ok(lock) => return Ok(lock),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => park_timeout(STEP),
            Err(error) => return Err(io(error)),
        }
    }
    let holder =
        UnixStream::connect_addr(&address).ok().and_then(|stream| credentials::peer_process(&stream));
    let holder = holder.map_or_else(|| "with unknown id".to_owned(), |process| process.to_string());
    Err(in_use(name, &holder))
}

fn read(directory: &Path) -> Result<Option<RestoreRecord>, RelayError> {
    let path = directory.join(RECORD);
    let io = |source| RelayError::Io { what: format!("use {}", path.display()), source };
    match fs::read(&path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|error| io(error.into())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io(error)),
    }
}

fn all(run_dir: &Path) -> Result<Vec<RestoreRecord>, RelayError> {
    let entries = match fs::read_dir(run_dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(RelayError::io(format!("read {}", run_dir.display()))(error)),
    };
    let mut directories: Vec<_> =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    directories.sort();
    directories.iter().filter_map(|directory| read(directory).transpose()).collect()
}

fn remove(directory: &Path) -> Result<(), RelayError> {
    let path = directory.join(RECORD);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(RelayError::io(format!("use {}", path.display()))(error))
        }
        _ => Ok(()),
    }
}

pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = path.with_extension("new");
    fs::write(&new, bytes)?;
    fs::rename(new, path)
}
