//! A small HTTP/1.1 server: one thread, bounded memory, and no client that can keep out another one.
//!
//! Health checks and metrics of services use it, and the page of a fabric. A request has a bounded length and must
//! arrive in time; a slow reader is dropped; beyond the limit of connections the oldest idle one makes room.
//! Each answer closes its connection, except a stream of server-sent events.

mod connection;
mod request;
mod response;
mod server;

pub use request::{Peer, Request};
pub use response::Response;
pub use server::{Answer, Later, Listener, Publisher, Server, Site};
