//! The published prototype of `LinkGuardian` (SIGCOMM 2023 and its artifact), register by register.
//!
//! It is separate from the core that improves on it, because its limits are not options: they follow from
//! what a programmable switch can keep in registers and do in one pass. This module has the registers and the
//! effect of each packet on them. `tests/it/link/defects` shows the resulting limits one by one, each beside
//! the core that avoids it.
//!
//! # Cores without buffers
//!
//! Both buffers of the prototype are loops: a copy recirculates through a loopback port and is checked at
//! each pass. So the cores hold no frames. The host has a FIFO for each loopback, with its rate and latency,
//! and calls the core for every frame that leaves it.
//!
//! ```text
//!  sender switch                                                                          receiver switch
//!  normal queue ─► on_egress ───────────────────────── Data ─────────────► on_arrival ─► Forward ─► egress
//!                      │ copy                                                 │  ▲ │ Hold
//!                      ▼                                                      │  │ ▼
//!                  TX loop ──► judge_copy ─► Resend ── Data, again ───────────┘  │ RX loop ─► on_dequeue(depth)
//!                      ▲────────── Keep                                          └──judge────┘
//!  dummy queue ─► on_egress_dummy ──────────────────── Dummy ────────────► on_arrival
//!
//!                  on_signal ◄──────────────────────── Notification ◄───── on_arrival
//!                  on_signal ◄──────────────────────── Ack, Piggyback ◄─── on_egress  (reverse queue, courier)
//!                  on_pause ◄───────────────────────── PFC ◄────────────── on_ticks   (every 100 ns)
//! ```
//!
//! Queues have strict priority: retransmissions and notifications, then normal frames, then dummies and
//! couriers. A pause holds only the normal queue. A frame gets its number when it leaves, so numbers are in
//! wire order.
//!
//! Not modelled: the request table and the timer exist once per switch, which therefore protects one link.
//! Here a [`Sender`] and a [`Receiver`] serve one link each. The limit to IPv4 is in
//! `wiremend_wire::link::prototype`.

mod config;
mod receiver;
mod sender;

pub use config::{CELL_BYTES, Config, ConfigError, TICK};
pub use receiver::{Arrival, FrameVerdict, Receiver, ReceiverCounters, TickOutcome};
pub use sender::{CopyVerdict, Sender, SenderCounters};
pub use wiremend_wire::link::prototype::{Ack, EraSeq, PrototypeHeader};
