//! tc rules for received frames: redirect them to another port, or keep them from the host.
//!
//! ```text
//!             packet socket (receives every frame)
//!                  ▲
//!   arrives ───────┴─► redirect ──────────────► drop        host's stack: never reached
//!                      all but the link's       the rest
//!                         │
//!                         ▼ leaves by the other port
//! ```
//!
//! The `clsact` qdisc of a port has two filters: an optional redirect, and after it a filter that drops all
//! frames. The drop filter drops the frames that the redirect excludes (link frames). One netlink message
//! adds, replaces or removes the redirect, so a change of [`IngressRule`] is atomic: no frame ever reaches
//! the host, and a program killed at any point leaves a valid rule. Packet sockets receive frames before the
//! filters run.
//!
//! Filters of other programs are left alone. Ours are identified by priority, handle and program. The class
//! id of the drop filter records whether we added the qdisc. [`clear`] removes the qdisc only if wiremend
//! added it (perhaps a process that was killed) and no other program uses it.
//!
//! Needs `clsact`, `cls_bpf` and `act_mirred` in the kernel, and `CAP_NET_ADMIN`.

use super::{Interface, NetError, program};
use crate::sys::netlink::{Attributes, Message, NetlinkError, Reply, Socket, read_u32, read_u64};

/// What the kernel does with frames received on a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IngressRule {
    /// Redirects frames with their VLAN tags to another port. Drops link frames.
    Redirect {
        /// The port that receives the frames.
        from: String,
        /// The port that sends the frames.
        to: String,
        /// `EtherType` of the frames to drop.
        except_ethertype: u16,
    },
    /// Drops all frames. Packet sockets still receive them.
    Drop {
        /// The port that receives the frames.
        on: String,
    },
}

impl IngressRule {
    /// Replaces the rule of the port atomically.
    pub fn apply(&self) -> Result<(), NetError> {
        let mut port = Port::open(self.port())?;
        let own_filters = port.own_filters()?;
        let target = match self {
            Self::Redirect { to, except_ethertype, .. } => {
                Some(Target { index: Interface::by_name(to)?.index, except_ethertype: *except_ethertype })
            }
            Self::Drop { .. } => None,
        };
        if own_filters.drop.is_none() {
            port.put_drop()?;
        }
        match target {
            Some(target) if own_filters.redirect != Some(target) => port.put_redirect(target),
            None if own_filters.redirect.is_some() => port.remove(REDIRECT),
            _ => Ok(()),
        }
    }

    /// Reads the rule of a port; `None` if it has none of ours. A removed target has the name `(gone)`.
    pub fn read(name: &str) -> Result<Option<Self>, NetError> {
        let own_filters = Port::open(name)?.own_filters()?;
        if own_filters.drop.is_none() {
            return Ok(None);
        }
        let Some(target) = own_filters.redirect else {
            return Ok(Some(Self::Drop { on: name.to_owned() }));
        };
        let found = Interface::all()?.into_iter().find(|interface| interface.index == target.index);
        let to = found.map_or_else(|| "(gone)".to_owned(), |interface| interface.name);
        Ok(Some(Self::Redirect { from: name.to_owned(), to, except_ethertype: target.except_ethertype }))
    }

    /// The port that receives the frames.
    pub fn port(&self) -> &str {
        match self {
            Self::Redirect { from, .. } => from,
            Self::Drop { on } => on,
        }
    }
}

/// Changes the rule of a port between redirect and drop, each by one message over an open socket.
pub struct Switch {
    port: Port,
    target: Target,
}

impl Switch {
    /// Opens it for a port with one of our rules.
    pub fn open(from: &str, to: &str, except_ethertype: u16) -> Result<Self, NetError> {
        let target = Target { index: Interface::by_name(to)?.index, except_ethertype };
        Ok(Self { port: Port::open(from)?, target })
    }

    /// Redirects frames from now on.
    pub fn redirect(&mut self) -> Result<(), NetError> {
        self.port.put_redirect(self.target)
    }

    /// Drops all frames from now on.
    pub fn drop_all(&mut self) -> Result<(), NetError> {
        self.port.remove(REDIRECT)
    }

    /// Number of frames that any filter has dropped, modulo 2³².
    pub fn dropped(&mut self) -> Result<u32, NetError> {
        let body = body(self.port.index, 0, CLSACT_PARENT, 0);
        // Without this flag the kernel answers only those who listen to changes.
        let message = Message::new(libc::RTM_GETQDISC, libc::NLM_F_ECHO, &body);
        let replies = self.port.socket.ask(&message);
        let replies = replies.map_err(|error| self.port.refused("read the clsact qdisc of", error))?;
        let stats = replies.first().and_then(|reply| Some(reply.split(BODY)?.1.within(libc::TCA_STATS2)));
        Ok(stats.map_or(0, |stats| queue_count(stats, DROPS_OFFSET) as u32))
    }
}

impl std::fmt::Debug for Switch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Switch({})", self.port.name)
    }
}

/// Removes the rule of a port. Frames reach the host again.
pub fn clear(name: &str) -> Result<(), NetError> {
    let mut port = Port::open(name)?;
    let own_filters = port.own_filters()?;
    if own_filters.redirect.is_some() {
        port.remove(REDIRECT)?;
    }
    if own_filters.drop.is_some() {
        port.remove(DROP)?;
    }
    let unused = port.filters(INGRESS)?.is_empty() && port.filters(EGRESS)?.is_empty();
    if own_filters.drop == Some(Qdisc::Added) && unused {
        let message = Message::new(libc::RTM_DELQDISC, 0, &body(port.index, CLSACT, CLSACT_PARENT, 0));
        port.change(message, "remove the clsact qdisc from")?;
    }
    Ok(())
}

/// Number of ingress filters of other programs. Those with a lower priority number run before ours.
pub fn foreign_filter_count(name: &str) -> Result<usize, NetError> {
    Ok(Port::open(name)?.filters(INGRESS)?.iter().filter(|filter| filter.own().is_none()).count())
}

/// Counters of the filters on a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FilterCounts {
    /// Frames redirected since the redirect was last added or replaced.
    pub redirected: u64,
    /// Of these, frames lost because the other port was down or gone.
    pub redirect_failed: u64,
    /// Frames dropped by any filter since the qdisc was added.
    pub dropped: u64,
}

/// Reads the counters of the filters on a port.
pub fn counts(name: &str) -> Result<FilterCounts, NetError> {
    let mut port = Port::open(name)?;
    let filters = port.filters(INGRESS)?;
    let redirect = filters.iter().find(|filter| matches!(filter.own(), Some(OwnFilter::Redirect(_))));
    let stats = redirect.map(Filter::action).unwrap_or_default().within(TCA_ACT_STATS);
    let packets = stats.get(TCA_STATS_PKT64).and_then(|value| read_u64(value, 0));
    let basic = stats.get(TCA_STATS_BASIC).and_then(|value| read_u32(value, 8)).map(u64::from);
    let message = Message::new(libc::RTM_GETQDISC, libc::NLM_F_DUMP, &body(port.index, 0, 0, 0));
    let replies = port.socket.ask(&message).map_err(|error| port.refused("list the qdiscs of", error))?;
    let queue = replies.iter().find_map(|reply| {
        let (body, attributes) = reply.split(BODY)?;
        let place = (read_u32(body, 4)?, read_u32(body, 12)?);
        (place == (port.index, CLSACT_PARENT))
            .then(|| queue_count(attributes.within(libc::TCA_STATS2), DROPS_OFFSET))
    });
    Ok(FilterCounts {
        redirected: packets.or(basic).unwrap_or_default(),
        redirect_failed: queue_count(stats, OVERLIMITS_OFFSET),
        dropped: queue.unwrap_or_default(),
    })
}

/// A field of `struct gnet_stats_queue`: length, backlog, drops, requeues, overlimits.
fn queue_count(stats: Attributes<'_>, at: usize) -> u64 {
    stats.get(TCA_STATS_QUEUE).and_then(|value| read_u32(value, at)).unwrap_or_default().into()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Target {
    index: u32,
    except_ethertype: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Qdisc {
    Added,
    Found,
}

#[derive(Debug, Default)]
struct OwnFilters {
    redirect: Option<Target>,
    drop: Option<Qdisc>,
}

enum OwnFilter {
    Redirect(Target),
    Drop(Qdisc),
}

#[derive(Debug)]
struct Filter {
    priority: u16,
    handle: u32,
    kind: String,
    options: Vec<u8>,
}

impl Filter {
    fn parse(reply: &Reply) -> Option<Self> {
        let (body, attributes) = reply.split(BODY)?;
        let handle = read_u32(body, 8)?;
        // An entry with handle 0 is the header of the list at this priority.
        if reply.kind != libc::RTM_NEWTFILTER || handle == 0 {
            return None;
        }
        Some(Self {
            priority: (read_u32(body, 16)? >> 16) as u16,
            handle,
            kind: attributes.text(libc::TCA_KIND)?,
            options: attributes.get(libc::TCA_OPTIONS).unwrap_or_default().to_vec(),
        })
    }

    fn action(&self) -> Attributes<'_> {
        Attributes::new(&self.options).within(TCA_BPF_ACT).within(1)
    }

    /// Returns the role of the filter if it is ours.
    fn own(&self) -> Option<OwnFilter> {
        let options = Attributes::new(&self.options);
        let program = options.get(TCA_BPF_OPS)?;
        if self.kind != "bpf" || self.handle != HANDLE {
            return None;
        }
        match self.priority {
            REDIRECT => {
                let except_ethertype = program::excluded_ethertype(program)?;
                let mirred = self.action().within(libc::TCA_OPTIONS);
                let index = read_u32(mirred.get(TCA_MIRRED_PARMS)?, 24)?;
                Some(OwnFilter::Redirect(Target { index, except_ethertype }))
            }
            DROP if program == program::drop_all() => match options.u32(TCA_BPF_CLASSID) {
                Some(QDISC_ADDED) => Some(OwnFilter::Drop(Qdisc::Added)),
                Some(QDISC_FOUND) => Some(OwnFilter::Drop(Qdisc::Found)),
                _ => None,
            },
            _ => None,
        }
    }
}

struct Port {
    socket: Socket,
    name: String,
    index: u32,
}

impl Port {
    fn open(name: &str) -> Result<Self, NetError> {
        let index = Interface::by_name(name)?.index;
        let socket = Socket::open()
            .map_err(|error| NetError::failed(format!("query the interface `{name}`"), error))?;
        Ok(Self { socket, name: name.to_owned(), index })
    }

    fn filters(&mut self, parent: u32) -> Result<Vec<Filter>, NetError> {
        let body = body(self.index, 0, parent, 0);
        let message = Message::new(libc::RTM_GETTFILTER, libc::NLM_F_DUMP, &body);
        let replies =
            self.socket.ask(&message).map_err(|error| self.refused("list the filters of", error))?;
        Ok(replies.iter().filter_map(Filter::parse).collect())
    }

    /// Reads our filters. Fails if another program uses our priorities.
    fn own_filters(&mut self) -> Result<OwnFilters, NetError> {
        let mut own_filters = OwnFilters::default();
        for filter in self.filters(INGRESS)? {
            match filter.own() {
                Some(OwnFilter::Redirect(target)) => own_filters.redirect = Some(target),
                Some(OwnFilter::Drop(queue)) => own_filters.drop = Some(queue),
                None if [REDIRECT, DROP].contains(&filter.priority) => {
                    return Err(NetError::Taken {
                        what: format!("filter frames on `{}`", self.name),
                        by: format!(
                            "a `{}` filter of another program has the priority {}: remove it first",
                            filter.kind, filter.priority
                        ),
                    });
                }
                None => {}
            }
        }
        Ok(own_filters)
    }

    fn put_drop(&mut self) -> Result<(), NetError> {
        let queue = self.add_qdisc()?;
        let mut message = self.filter(DROP);
        message.nest(libc::TCA_OPTIONS, |options| {
            let class = if queue == Qdisc::Added { QDISC_ADDED } else { QDISC_FOUND };
            options.put_u32(TCA_BPF_CLASSID, class).put_u32(TCA_BPF_FLAGS, TCA_BPF_FLAG_ACT_DIRECT);
            put_program(options, &program::drop_all());
        });
        let outcome = self.change(message, "filter frames on");
        if outcome.is_err() && queue == Qdisc::Added {
            let message = Message::new(libc::RTM_DELQDISC, 0, &body(self.index, CLSACT, CLSACT_PARENT, 0));
            // Report the first error only.
            let _ = self.socket.change(message);
        }
        outcome
    }

    fn put_redirect(&mut self, target: Target) -> Result<(), NetError> {
        let mut message = self.filter(REDIRECT);
        message.nest(libc::TCA_OPTIONS, |options| {
            put_program(options, &program::all_but(target.except_ethertype));
            options.nest(TCA_BPF_ACT, |actions| {
                actions.nest(1, |action| {
                    action.put_text(libc::TCA_KIND, "mirred").nest(libc::TCA_OPTIONS, |mirred| {
                        mirred.put(TCA_MIRRED_PARMS, &redirect_to(target.index));
                    });
                });
            });
        });
        self.change(message, "redirect frames from")
    }

    /// Request that adds or atomically replaces our filter at `priority`.
    fn filter(&self, priority: u16) -> Message {
        let body = body(self.index, HANDLE, INGRESS, priority_and_protocol(priority));
        let mut message = Message::new(libc::RTM_NEWTFILTER, libc::NLM_F_CREATE | libc::NLM_F_REPLACE, &body);
        message.put_text(libc::TCA_KIND, "bpf");
        message
    }

    fn remove(&mut self, priority: u16) -> Result<(), NetError> {
        let body = body(self.index, HANDLE, INGRESS, priority_and_protocol(priority));
        let mut message = Message::new(libc::RTM_DELTFILTER, 0, &body);
        message.put_text(libc::TCA_KIND, "bpf");
        self.change(message, "remove the filter from")
    }

    fn add_qdisc(&mut self) -> Result<Qdisc, NetError> {
        let body = body(self.index, CLSACT, CLSACT_PARENT, 0);
        let mut message = Message::new(libc::RTM_NEWQDISC, libc::NLM_F_CREATE | libc::NLM_F_EXCL, &body);
        message.put_text(libc::TCA_KIND, "clsact");
        match self.socket.change(message) {
            Ok(()) => Ok(Qdisc::Added),
            Err(error) if error.errno() == Some(libc::EEXIST) => Ok(Qdisc::Found),
            Err(error) => Err(self.refused("add a clsact qdisc to", error)),
        }
    }

    fn change(&mut self, message: Message, what: &str) -> Result<(), NetError> {
        self.socket.change(message).map_err(|error| self.refused(what, error))
    }

    fn refused(&self, what: &str, error: NetlinkError) -> NetError {
        let what = format!("{what} `{}`", self.name);
        match error.errno() {
            Some(libc::ENOENT) => NetError::Unsupported {
                what,
                lacks: "the kernel needs clsact, cls_bpf and act_mirred (NET_SCH_INGRESS, NET_CLS_BPF, NET_ACT_MIRRED)",
                source: error,
            },
            _ => NetError::for_interface(&self.name, what, error),
        }
    }
}

/// Priorities of our filters: the drop filter follows the redirect.
const REDIRECT: u16 = 0x776D;
const DROP: u16 = REDIRECT + 1;
const HANDLE: u32 = 1;
const QDISC_ADDED: u32 = 0x776D_0001;
const QDISC_FOUND: u32 = 0x776D_0002;

// `linux/pkt_sched.h`, `linux/pkt_cls.h`, `linux/tc_act/tc_mirred.h`.
const CLSACT: u32 = 0xFFFF_0000;
const CLSACT_PARENT: u32 = 0xFFFF_FFF1;
const INGRESS: u32 = 0xFFFF_FFF2;
const EGRESS: u32 = 0xFFFF_FFF3;
const TCA_BPF_ACT: u16 = 1;
const TCA_BPF_CLASSID: u16 = 3;
const TCA_BPF_OPS_LEN: u16 = 4;
const TCA_BPF_OPS: u16 = 5;
const TCA_BPF_FLAGS: u16 = 8;
const TCA_BPF_FLAG_ACT_DIRECT: u32 = 1;
const TCA_MIRRED_PARMS: u16 = 2;
const TCA_ACT_STATS: u16 = 4;
const TCA_STATS_BASIC: u16 = 1;
const TCA_STATS_QUEUE: u16 = 3;
const TCA_STATS_PKT64: u16 = 8;
const DROPS_OFFSET: usize = 8;
const OVERLIMITS_OFFSET: usize = 16;
const TC_ACT_STOLEN: u32 = 4;
const TCA_EGRESS_REDIR: u32 = 1;
/// Bytes of `struct tcmsg`.
const BODY: usize = 20;

/// `struct tcmsg`.
fn body(index: u32, handle: u32, parent: u32, place: u32) -> Vec<u8> {
    [0, index, handle, parent, place].iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// Priority of a filter, and its protocol: all.
fn priority_and_protocol(priority: u16) -> u32 {
    u32::from(priority) << 16 | u32::from((libc::ETH_P_ALL as u16).to_be())
}

fn put_program(options: &mut Message, program: &[u8]) {
    options.put(TCA_BPF_OPS_LEN, &program::instructions(program).to_ne_bytes()).put(TCA_BPF_OPS, program);
}

/// `struct tc_mirred`: index, capabilities, action, two counts, direction, target interface.
fn redirect_to(index: u32) -> Vec<u8> {
    [0, 0, TC_ACT_STOLEN, 0, 0, TCA_EGRESS_REDIR, index].iter().flat_map(|word| word.to_ne_bytes()).collect()
}
