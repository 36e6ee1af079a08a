//! TCP of the kernel over a chain: what corruption does to it, and what protection gives back.
//!
//! `bulk` sends as much as congestion control lets it, `request` a little at a time. A [`Trial`] runs both in three
//! [`State`](wiremend_report::lab::State)s of the chain, one after the other and again from the start, so that what else the machine does hits all alike.

pub(crate) mod bulk;
mod outcome;
mod request;
mod trial;

pub use bulk::available;
pub use outcome::{Goodput, Latency, Outcome, Timeline, Transfers};
pub use trial::Trial;

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use super::chain::{Chain, Side};
use super::rights::refused;
use crate::error::Error;

const CONNECT: Duration = Duration::from_mins(2);

/// A connection from host A to host B: A's end and B's end.
fn connect(chain: &Chain) -> Result<[TcpStream; 2], Error> {
    let lost =
        |error: std::io::Error| Error::Environment(format!("the hosts of the lab do not connect: {error}"));
    let address = SocketAddr::from((Side::B.address(), 0));
    let listener = chain.host(Side::B).run(|| TcpListener::bind(address)).map_err(refused)?.map_err(lost)?;
    let port = listener.local_addr().map_err(lost)?;
    let near = chain
        .host(Side::A)
        .run(|| TcpStream::connect_timeout(&port, CONNECT))
        .map_err(refused)?
        .map_err(lost)?;
    let (far, _) = listener.accept().map_err(lost)?;
    Ok([near, far])
}
