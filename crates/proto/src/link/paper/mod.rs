//! The published prototype of `LinkGuardian` (SIGCOMM 2023 and its artifact), register by register.
//!
//! It is kept apart from the core that improves on it, because its limits are not options: they follow from what a
//! programmable switch can hold in registers and do in one pass. Here are the registers and what each packet does to them; the limits then come
//! by themselves, and `tests/it/link/defects` shows them one by one, each beside the core that does without it.
//!
//! # Cores without buffers
//!
//! Both buffers of the prototype are loops: a copy goes round through a loopback port of the switch and is judged at each
//! turn. So the cores here hold no frames. The host has one FIFO for each loopback, with its rate and latency, and asks for every
//! frame that comes out of it.
//!
//! ```text
//!  sender switch                                                                          receiver switch
//!  normal queue ─► on_egress ───────────────────────── Data ─────────────► on_arrival ─► Forward ─► its way
//!                      │ copy                                                 │  ▲ │ Hold
//!                      ▼                                                      │  │ ▼
//!                  TX loop ──► judge_copy ─► Resend ── Data, again ───────────┘  │ RX loop ─► on_dequeue(depth)
//!                      ▲────────── Again                                         └──judge────┘
//!  dummy queue ─► on_egress_dummy ──────────────────── Dummy ────────────► on_arrival
//!
//!                  on_signal ◄──────────────────────── Notification ◄───── on_arrival
//!                  on_signal ◄──────────────────────── Ack, Piggyback ◄─── on_egress  (reverse queue, courier)
//!                  on_pause ◄───────────────────────── PFC ◄────────────── on_ticks   (every 100 ns)
//! ```
//!
//! Queues are strict: what is sent again and what is asked for before normal frames, dummies and couriers after them. Pause
//! holds the normal queue alone. Numbers are given when a frame leaves, so they are in the order of the wire.
//!
//! Not modelled: that the table of requests and the timer exist once in a switch, which therefore protects one link; a [`Sender`] and a
//! [`Receiver`] stand for one link each. That only IPv4 survives is a matter of bytes (`wiremend_wire::link::prototype`).

mod config;
mod receiver;
mod sender;

pub use config::{CELL_BYTES, Config, ConfigError, TICK};
pub use receiver::{Arrival, Receiver, ReceiverCounters, Tick, Verdict};
pub use sender::{Judgement, Sender, SenderCounters};
pub use wiremend_wire::link::prototype::{Ack, Number, Signal};
