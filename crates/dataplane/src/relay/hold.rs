//! Two interfaces in a relay's hands: nobody else's meanwhile, and put back as they were.
//!
//! What is changed is written to the run directory first, a directory for each interface:
//!
//! ```text
//!   /run/wiremend/eth1/lock, before.json
//!   /run/wiremend/eth2/lock, before.json, control      (the link's has the relay's socket)
//! ```
//!
//! The lock is shared with the process that carries frames and goes when both are gone. `before.json` stays as long as anything is left
//! to put back, so that the next start or [`restore`] finds what was there before the first one, however that ended.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread::park_timeout;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use wiremend_units::Rate;

use super::junction::Junction;
use super::{Settings, Unusable, ports};
use crate::net::offload;
use crate::net::{self, Interface, Refused, Saved, tc};
use crate::sys::capability::Capability;

/// Two interfaces in a relay's hands.
#[derive(Debug)]
pub struct Hold {
    /// Of the LAN and of the link.
    ends: [Held; 2],
    rate: Rate,
    /// A relay before had left something to put back.
    inherited: bool,
}

/// One of them.
#[derive(Debug)]
struct Held {
    directory: PathBuf,
    record: Record,
    lock: File,
}

/// What has to be put back.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Record {
    lan: String,
    link: String,
    ethertype: u16,
    saved: Saved,
    /// The relay took it down, because the other one had lost its carrier.
    taken_down: bool,
}

/// What was put back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Restored {
    /// The interfaces of the relay.
    pub lan: String,
    /// See `lan`.
    pub link: String,
    /// Whether the kernel goes on forwarding between them.
    pub forwards: bool,
}

const RECORD: &str = "before.json";
const LOCK: &str = "lock";
/// One that is about to end has gone by then.
const PATIENCE_STEPS: u32 = 50;
const STEP: Duration = Duration::from_millis(10);

impl Hold {
    /// Takes the two interfaces, or says why not and leaves all as it was. With [`Settings::wait`] it waits for carriers, until
    /// `stop` says otherwise.
    pub fn take(settings: &Settings, stop: &dyn Fn() -> bool) -> Result<Self, Unusable> {
        ports::fit(settings)?;
        privileged()?;
        let names = [&settings.lan, &settings.link];
        let [lan, link] = names.map(|name| Lease::of(&settings.run_dir, name));
        let leases = [lan?, link?];
        for lease in &leases {
            lease.recover(settings)?;
        }
        let [_, link] = await_ready(settings, stop)?;
        let rate = ports::rate(settings, &link)?;
        for name in names {
            ports::clear_of_others(name, settings)?;
        }
        let inherited = leases.iter().any(|lease| lease.left.is_some());
        let [lan, link] = leases.map(|lease| lease.hold(settings));
        let hold = Self { ends: [lan?, link?], rate, inherited };
        for end in &hold.ends {
            if let Err(refused) = end.record.saved.take_over() {
                // The first error is the one to tell.
                let _ = hold.give_up();
                return Err(refused.into());
            }
        }
        Ok(hold)
    }

    /// How fast the link is.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// What a process that works for this one shares.
    pub(super) fn locks(&self) -> [BorrowedFd<'_>; 2] {
        self.ends.each_ref().map(|end| end.lock.as_fd())
    }

    /// The kernel joins the two interfaces from here on.
    pub(super) fn forward(&self) -> Result<(), Unusable> {
        let [_, Held { record, .. }] = &self.ends;
        Junction::new(&record.lan, &record.link, record.ethertype)?;
        Ok(())
    }

    /// Takes down one of the two (0: the LAN) or brings it up again; what is down is remembered first.
    pub(super) fn set_up(&mut self, end: usize, up: bool) -> Result<(), Unusable> {
        let end = &mut self.ends[end];
        end.record.taken_down = !up;
        end.write()?;
        Ok(net::set_up(&end.record.saved.interface, up)?)
    }

    /// The kernel goes on forwarding. Offloads are as they were; the rest is left for [`restore`] or the next start.
    pub(super) fn leave(&mut self) -> Result<(), Unusable> {
        self.forward()?;
        for at in 0..2 {
            if self.ends[at].record.taken_down {
                self.set_up(at, true)?;
            }
            self.ends[at].record.restore_offloads()?;
        }
        Ok(())
    }

    /// The interfaces are as they were before the first relay.
    pub(super) fn give_back(&self) -> Result<(), Unusable> {
        for end in &self.ends {
            end.record.give_back()?;
            remove(&end.directory)?;
        }
        Ok(())
    }

    /// It came to nothing: as if it had never been tried.
    pub(super) fn give_up(mut self) -> Result<(), Unusable> {
        if self.inherited { self.leave() } else { self.give_back() }
    }
}

/// Puts back what relays that do not run any more have left: that of `link`, or all of them. `forward`: the kernel goes on forwarding
/// between the two interfaces, and only offloads and what was taken down are put back.
pub fn restore(run_dir: &Path, link: Option<&str>, forward: bool) -> Result<Vec<Restored>, Unusable> {
    privileged()?;
    let mut done: Vec<Restored> = Vec::new();
    let records: Vec<_> = match link {
        Some(link) => read(&run_dir.join(link))?.into_iter().collect(),
        None => all(run_dir)?,
    };
    if records.is_empty()
        && let Some(link) = link
    {
        return Ok(restore_unrecorded(link)?.into_iter().collect());
    }
    for Record { lan, link, ethertype, .. } in records {
        if done.iter().any(|restored| restored.link == link) {
            continue;
        }
        let leases = [&lan, &link].map(|name| Lease::of(run_dir, name));
        for lease in leases {
            let lease = lease?;
            let Some(record) = &lease.left else { continue };
            if forward {
                record.bring_up()?;
                record.restore_offloads()?;
            } else {
                record.give_back()?;
                remove(&lease.directory)?;
            }
        }
        if forward {
            Junction::new(&lan, &link, ethertype)?;
        }
        done.push(Restored { lan, link, forwards: forward });
    }
    Ok(done)
}

/// Rules whose relay kept nothing here.
fn restore_unrecorded(link: &str) -> Result<Option<Restored>, Refused> {
    let Some(rule) = tc::Rule::on(link)? else { return Ok(None) };
    let mut lan = String::new();
    if let tc::Rule::Redirect { to, .. } = rule {
        tc::clear(&to)?;
        lan = to;
    }
    tc::clear(link)?;
    Ok(Some(Restored { lan, link: link.into(), forwards: false }))
}

/// An interface that is locked, and what an earlier relay has left of it.
struct Lease {
    name: String,
    directory: PathBuf,
    lock: File,
    left: Option<Record>,
}

impl Lease {
    fn of(run_dir: &Path, name: &str) -> Result<Self, Unusable> {
        let directory = run_dir.join(name);
        let made = DirBuilder::new().recursive(true).mode(0o750).create(&directory);
        made.map_err(Unusable::io(format!("the directory {}", directory.display())))?;
        let lock = lock(&directory, name)?;
        let left = read(&directory)?;
        Ok(Self { name: name.into(), directory, lock, left })
    }

    /// Undoes of an earlier relay what would be in the way of this one.
    fn recover(&self, settings: &Settings) -> Result<(), Unusable> {
        let Some(left) = &self.left else { return Ok(()) };
        left.bring_up()?;
        // The other interface of that relay may be none of ours.
        let others = [&left.lan, &left.link].into_iter();
        for other in others.filter(|name| ![&settings.lan, &settings.link].contains(name)) {
            if Interface::by_name(other).is_ok() {
                tc::clear(other)?;
            }
        }
        Ok(())
    }

    /// What was before the first relay is what will be put back.
    fn hold(self, settings: &Settings) -> Result<Held, Unusable> {
        let mut saved = Saved::of(&self.name, settings.unbearable())?;
        if let Some(Record { saved: before, .. }) = self.left {
            let more = before.offloads.into_iter().filter(|name| !saved.offloads.contains(name));
            saved.offloads.extend(more.collect::<Vec<_>>());
            saved = Saved { offloads: saved.offloads, ..before };
        }
        let record = Record {
            lan: settings.lan.clone(),
            link: settings.link.clone(),
            ethertype: settings.dialect.ethertype,
            saved,
            taken_down: false,
        };
        let held = Held { directory: self.directory, record, lock: self.lock };
        held.write()?;
        Ok(held)
    }
}

impl Held {
    fn write(&self) -> Result<(), Unusable> {
        let path = self.directory.join(RECORD);
        let written = replace(&path, &serde_json::to_vec_pretty(&self.record).expect("plain values"));
        written.map_err(Unusable::io(path.display().to_string()))
    }
}

impl Record {
    fn give_back(&self) -> Result<(), Unusable> {
        if self.is_gone() {
            return Ok(());
        }
        tc::clear(&self.saved.interface)?;
        self.bring_up()?;
        Ok(self.saved.restore()?)
    }

    fn bring_up(&self) -> Result<(), Unusable> {
        if self.taken_down && !self.is_gone() {
            net::set_up(&self.saved.interface, true)?;
        }
        Ok(())
    }

    fn restore_offloads(&self) -> Result<(), Unusable> {
        if self.is_gone() {
            return Ok(());
        }
        let on: Vec<_> = self.saved.offloads.iter().map(|name| (name.as_str(), true)).collect();
        Ok(offload::switch(&self.saved.interface, &on)?)
    }

    /// An interface that is gone took everything with it.
    fn is_gone(&self) -> bool {
        matches!(Interface::by_name(&self.saved.interface), Err(Refused::NoSuchInterface { .. }))
    }
}

/// Which privileges are missing.
fn privileged() -> Result<(), Unusable> {
    let needed = [Capability::NetAdmin, Capability::NetRaw];
    let missing: Vec<_> = needed
        .into_iter()
        .filter(|capability| !capability.is_held().unwrap_or(true))
        .map(Capability::name)
        .collect();
    if missing.is_empty() { Ok(()) } else { Err(Unusable::Privilege(missing)) }
}

fn await_ready(settings: &Settings, stop: &dyn Fn() -> bool) -> Result<[Interface; 2], Unusable> {
    let mut steps = 0;
    loop {
        let both = ports::fit(settings)?;
        let Err(why) = both.iter().try_for_each(ports::ready) else { return Ok(both) };
        // What was just brought up needs a moment; for the rest only those wait who say so.
        if !settings.wait && (steps >= PATIENCE_STEPS || matches!(why, Unusable::Down(_))) {
            return Err(why);
        }
        if stop() {
            return Err(Unusable::Stopped);
        }
        steps += 1;
        park_timeout(STEP);
    }
}

/// Locks an interface's directory; one that is just ending is waited for.
fn lock(directory: &Path, name: &str) -> Result<File, Unusable> {
    let path = directory.join(LOCK);
    let io = |source| Unusable::Io { what: path.display().to_string(), source };
    let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o640).clone();
    let mut file = options.open(&path).map_err(io)?;
    for _ in 0..PATIENCE_STEPS {
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
    let holder = if holder.is_empty() { "of unknown number".to_owned() } else { holder };
    Err(Unusable::InUse {
        name: name.into(),
        by: format!("another relay (process {holder})"),
        remedy: format!("kill {holder}"),
    })
}

fn read(directory: &Path) -> Result<Option<Record>, Unusable> {
    let path = directory.join(RECORD);
    let io = |source| Unusable::Io { what: path.display().to_string(), source };
    match fs::read(&path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|error| io(error.into())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io(error)),
    }
}

fn all(run_dir: &Path) -> Result<Vec<Record>, Unusable> {
    let entries = match fs::read_dir(run_dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Unusable::io(run_dir.display().to_string())(error)),
    };
    let mut directories: Vec<_> =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    directories.sort();
    directories.iter().filter_map(|directory| read(directory).transpose()).collect()
}

fn remove(directory: &Path) -> Result<(), Unusable> {
    let path = directory.join(RECORD);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Unusable::io(path.display().to_string())(error))
        }
        _ => Ok(()),
    }
}

/// Writes a file whole or not at all.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = path.with_extension("new");
    fs::write(&new, bytes)?;
    fs::rename(new, path)
}
