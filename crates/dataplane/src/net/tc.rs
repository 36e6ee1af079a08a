//! What the kernel does with frames that arrive on a port: hands them to another port, or keeps them from the host.
//!
//! ```text
//!             packet socket (sees every frame)
//!                  ▲
//!   arrives ───────┴─► redirect ──────────────► drop        host's stack: never reached
//!                      all but the link's       the rest
//!                         │
//!                         ▼ leaves by the other port
//! ```
//!
//! Two filters stand on a port's `clsact` queue: the redirect, if there is one, and behind it one that drops all. So
//! what the redirect leaves out (frames of the link's own `EtherType`) is dropped; and to change from one [`Rule`] to the other is
//! one message that adds, replaces or removes the redirect alone. At no instant can a frame pass to the host, and a program
//! killed at any point leaves a rule that holds. Packet sockets see frames before filters do.
//!
//! Filters of others are left as they are. Ours are known by priority, handle and program. Whether the queue was there before
//! us is written into the drop filter (as its class, which nothing else reads), so that [`clear`] removes the queue only if a program of
//! ours has added it, perhaps one that was killed, and nobody else uses it meanwhile.
//!
//! Needs `clsact`, `cls_bpf` and `act_mirred` in the kernel, and `CAP_NET_ADMIN`.

use super::{Interface, Refused, program};
use crate::sys::netlink::{Attributes, Fault, Message, Reply, Socket, read_u32, read_u64};

/// What happens to frames that arrive on a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    /// They leave by another port, with their VLAN tags, except those of the link's own `EtherType`, which are dropped.
    Redirect {
        /// The port on which they arrive.
        from: String,
        /// The port by which they leave.
        to: String,
        /// The type of frames that are dropped instead.
        except_ethertype: u16,
    },
    /// They are kept from the host; packet sockets still see them.
    Drop {
        /// The port on which they arrive.
        on: String,
    },
}

impl Rule {
    /// Makes this the rule of its port, at once and without a gap, whatever the rule was before.
    pub fn apply(&self) -> Result<(), Refused> {
        let mut port = Port::open(self.port())?;
        let standing = port.standing()?;
        let target = match self {
            Self::Redirect { to, except_ethertype, .. } => {
                Some(Target { index: Interface::by_name(to)?.index, except_ethertype: *except_ethertype })
            }
            Self::Drop { .. } => None,
        };
        if standing.drop.is_none() {
            port.put_drop()?;
        }
        match target {
            Some(target) if standing.redirect != Some(target) => port.put_redirect(target),
            None if standing.redirect.is_some() => port.remove(REDIRECT),
            _ => Ok(()),
        }
    }

    /// The rule that holds on a port; `None` if there is none of ours. The name of a target that is gone reads `(gone)`.
    pub fn on(name: &str) -> Result<Option<Self>, Refused> {
        let standing = Port::open(name)?.standing()?;
        if standing.drop.is_none() {
            return Ok(None);
        }
        let Some(target) = standing.redirect else {
            return Ok(Some(Self::Drop { on: name.to_owned() }));
        };
        let found = Interface::all()?.into_iter().find(|interface| interface.index == target.index);
        let to = found.map_or_else(|| "(gone)".to_owned(), |interface| interface.name);
        Ok(Some(Self::Redirect { from: name.to_owned(), to, except_ethertype: target.except_ethertype }))
    }

    /// The port on which frames arrive.
    pub fn port(&self) -> &str {
        match self {
            Self::Redirect { from, .. } => from,
            Self::Drop { on } => on,
        }
    }
}

/// Takes away what [`Rule::apply`] has put on a port: frames that arrive reach the host again.
pub fn clear(name: &str) -> Result<(), Refused> {
    let mut port = Port::open(name)?;
    let standing = port.standing()?;
    if standing.redirect.is_some() {
        port.remove(REDIRECT)?;
    }
    if standing.drop.is_some() {
        port.remove(DROP)?;
    }
    let unused = port.filters(INGRESS)?.is_empty() && port.filters(EGRESS)?.is_empty();
    if standing.drop == Some(Queue::Added) && unused {
        let message = Message::new(libc::RTM_DELQDISC, 0, &body(port.index, CLSACT, CLSACT_PARENT, 0));
        port.change(message, "remove the clsact queue from")?;
    }
    Ok(())
}

/// How many filters of others stand on what arrives on a port. Those with a lower priority number act before ours.
pub fn others(name: &str) -> Result<usize, Refused> {
    Ok(Port::open(name)?.filters(INGRESS)?.iter().filter(|filter| filter.own().is_none()).count())
}

/// What the filters on a port have counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Frames handed to the other port since the redirect was put or last replaced.
    pub redirected: u64,
    /// Of these, frames that the other port did not take because it was down or gone.
    pub untaken: u64,
    /// Frames dropped by any filter since the port has its queue.
    pub dropped: u64,
}

/// Reads what the filters on a port have counted.
pub fn counts(name: &str) -> Result<Counts, Refused> {
    let mut port = Port::open(name)?;
    let filters = port.filters(INGRESS)?;
    let redirect = filters.iter().find(|filter| matches!(filter.own(), Some(Own::Redirect(_))));
    let stats = redirect.map(Filter::action).unwrap_or_default().within(TCA_ACT_STATS);
    let packets = stats.get(TCA_STATS_PKT64).and_then(|value| read_u64(value, 0));
    let basic = stats.get(TCA_STATS_BASIC).and_then(|value| read_u32(value, 8)).map(u64::from);
    let message = Message::new(libc::RTM_GETQDISC, libc::NLM_F_DUMP, &body(port.index, 0, 0, 0));
    let replies = port.socket.ask(&message).map_err(|fault| port.refused("list the queues of", fault))?;
    let queue = replies.iter().find_map(|reply| {
        let (body, attributes) = reply.split(BODY)?;
        let place = (read_u32(body, 4)?, read_u32(body, 12)?);
        (place == (port.index, CLSACT_PARENT))
            .then(|| queue_count(attributes.within(libc::TCA_STATS2), DROPS_AT))
    });
    Ok(Counts {
        redirected: packets.or(basic).unwrap_or_default(),
        untaken: queue_count(stats, OVERLIMITS_AT),
        dropped: queue.unwrap_or_default(),
    })
}

/// A number of `struct gnet_stats_queue`: length, backlog, drops, requeues, overlimits.
fn queue_count(stats: Attributes<'_>, at: usize) -> u64 {
    stats.get(TCA_STATS_QUEUE).and_then(|value| read_u32(value, at)).unwrap_or_default().into()
}

/// Where frames are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Target {
    index: u32,
    except_ethertype: u16,
}

/// Who added the port's queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Queue {
    Added,
    Found,
}

/// What stands on a port of ours.
#[derive(Debug, Default)]
struct Standing {
    redirect: Option<Target>,
    drop: Option<Queue>,
}

enum Own {
    Redirect(Target),
    Drop(Queue),
}

/// A filter on a port.
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
        // A row with handle 0 stands for the list at this priority, and its filters follow.
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

    /// Its first action.
    fn action(&self) -> Attributes<'_> {
        Attributes::new(&self.options).within(TCA_BPF_ACT).within(1)
    }

    /// What it is, if it is one of ours.
    fn own(&self) -> Option<Own> {
        let options = Attributes::new(&self.options);
        let program = options.get(TCA_BPF_OPS)?;
        if self.kind != "bpf" || self.handle != HANDLE {
            return None;
        }
        match self.priority {
            REDIRECT => {
                let except_ethertype = program::left_out(program)?;
                let mirred = self.action().within(libc::TCA_OPTIONS);
                let index = read_u32(mirred.get(TCA_MIRRED_PARMS)?, 24)?;
                Some(Own::Redirect(Target { index, except_ethertype }))
            }
            DROP if program == program::drop_all() => match options.u32(TCA_BPF_CLASSID) {
                Some(QUEUE_ADDED) => Some(Own::Drop(Queue::Added)),
                Some(QUEUE_FOUND) => Some(Own::Drop(Queue::Found)),
                _ => None,
            },
            _ => None,
        }
    }
}

/// A port whose filters are read and changed.
struct Port {
    socket: Socket,
    name: String,
    index: u32,
}

impl Port {
    fn open(name: &str) -> Result<Self, Refused> {
        let index = Interface::by_name(name)?.index;
        let socket = Socket::open().map_err(|error| Refused::failed(format!("ask about `{name}`"), error))?;
        Ok(Self { socket, name: name.to_owned(), index })
    }

    fn filters(&mut self, parent: u32) -> Result<Vec<Filter>, Refused> {
        let body = body(self.index, 0, parent, 0);
        let message = Message::new(libc::RTM_GETTFILTER, libc::NLM_F_DUMP, &body);
        let replies =
            self.socket.ask(&message).map_err(|fault| self.refused("list the filters of", fault))?;
        Ok(replies.iter().filter_map(Filter::parse).collect())
    }

    /// What of ours stands here; refused if our places are taken by others.
    fn standing(&mut self) -> Result<Standing, Refused> {
        let mut standing = Standing::default();
        for filter in self.filters(INGRESS)? {
            match filter.own() {
                Some(Own::Redirect(target)) => standing.redirect = Some(target),
                Some(Own::Drop(queue)) => standing.drop = Some(queue),
                None if [REDIRECT, DROP].contains(&filter.priority) => {
                    return Err(Refused::Taken {
                        what: format!("filter what arrives on `{}`", self.name),
                        by: format!(
                            "a `{}` filter of another program has the priority {}: remove it first",
                            filter.kind, filter.priority
                        ),
                    });
                }
                None => {}
            }
        }
        Ok(standing)
    }

    /// Adds the filter that drops all, and the queue for it where there is none.
    fn put_drop(&mut self) -> Result<(), Refused> {
        let queue = self.add_queue()?;
        let mut message = self.filter(DROP);
        message.nest(libc::TCA_OPTIONS, |options| {
            let class = if queue == Queue::Added { QUEUE_ADDED } else { QUEUE_FOUND };
            options.put_u32(TCA_BPF_CLASSID, class).put_u32(TCA_BPF_FLAGS, TCA_BPF_FLAG_ACT_DIRECT);
            put_program(options, &program::drop_all());
        });
        let outcome = self.change(message, "filter what arrives on");
        if outcome.is_err() && queue == Queue::Added {
            let message = Message::new(libc::RTM_DELQDISC, 0, &body(self.index, CLSACT, CLSACT_PARENT, 0));
            // The first error is the one to tell.
            let _ = self.socket.change(message);
        }
        outcome
    }

    fn put_redirect(&mut self, target: Target) -> Result<(), Refused> {
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
        self.change(message, "redirect what arrives on")
    }

    /// A request that makes, or in one step replaces, our filter at `priority`.
    fn filter(&self, priority: u16) -> Message {
        let body = body(self.index, HANDLE, INGRESS, place(priority));
        let mut message = Message::new(libc::RTM_NEWTFILTER, libc::NLM_F_CREATE | libc::NLM_F_REPLACE, &body);
        message.put_text(libc::TCA_KIND, "bpf");
        message
    }

    fn remove(&mut self, priority: u16) -> Result<(), Refused> {
        let body = body(self.index, HANDLE, INGRESS, place(priority));
        let mut message = Message::new(libc::RTM_DELTFILTER, 0, &body);
        message.put_text(libc::TCA_KIND, "bpf");
        self.change(message, "remove the filter from")
    }

    fn add_queue(&mut self) -> Result<Queue, Refused> {
        let body = body(self.index, CLSACT, CLSACT_PARENT, 0);
        let mut message = Message::new(libc::RTM_NEWQDISC, libc::NLM_F_CREATE | libc::NLM_F_EXCL, &body);
        message.put_text(libc::TCA_KIND, "clsact");
        match self.socket.change(message) {
            Ok(()) => Ok(Queue::Added),
            Err(fault) if fault.errno() == Some(libc::EEXIST) => Ok(Queue::Found),
            Err(fault) => Err(self.refused("put a clsact queue on", fault)),
        }
    }

    fn change(&mut self, message: Message, what: &str) -> Result<(), Refused> {
        self.socket.change(message).map_err(|fault| self.refused(what, fault))
    }

    fn refused(&self, what: &str, fault: Fault) -> Refused {
        let what = format!("{what} `{}`", self.name);
        match fault.errno() {
            Some(libc::ENOENT) => Refused::Unsupported {
                what,
                lacks: "the kernel needs clsact, cls_bpf and act_mirred (NET_SCH_INGRESS, NET_CLS_BPF, NET_ACT_MIRRED)",
                source: fault,
            },
            _ => Refused::of(&self.name, what, fault),
        }
    }
}

/// Our filters' priorities, next to each other: what the redirect leaves, the drop takes.
const REDIRECT: u16 = 0x776D;
const DROP: u16 = REDIRECT + 1;
const HANDLE: u32 = 1;
const QUEUE_ADDED: u32 = 0x776D_0001;
const QUEUE_FOUND: u32 = 0x776D_0002;

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
const DROPS_AT: usize = 8;
const OVERLIMITS_AT: usize = 16;
const TC_ACT_STOLEN: u32 = 4;
const TCA_EGRESS_REDIR: u32 = 1;
/// Bytes of `struct tcmsg`.
const BODY: usize = 20;

/// `struct tcmsg`.
fn body(index: u32, handle: u32, parent: u32, place: u32) -> Vec<u8> {
    [0, index, handle, parent, place].iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// A filter's priority, and the frames it is for: all.
fn place(priority: u16) -> u32 {
    u32::from(priority) << 16 | u32::from((libc::ETH_P_ALL as u16).to_be())
}

fn put_program(options: &mut Message, program: &[u8]) {
    options.put(TCA_BPF_OPS_LEN, &program::instructions(program).to_ne_bytes()).put(TCA_BPF_OPS, program);
}

/// `struct tc_mirred`: index, capabilities, action, two counts, what to do, where to.
fn redirect_to(index: u32) -> Vec<u8> {
    [0, 0, TC_ACT_STOLEN, 0, 0, TCA_EGRESS_REDIR, index].iter().flat_map(|word| word.to_ne_bytes()).collect()
}
