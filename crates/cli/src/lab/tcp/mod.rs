//! TCP of the kernel over a chain: what corruption does to it, and what protection gives back.
//!
//! [`bulk`] sends as much as congestion control lets it, [`request`] a little at a time. A [`trial`] runs both in three
//! [`State`]s of the chain, one after the other and again from the start, so that what else the machine does hits all alike.

pub(crate) mod bulk;
pub(crate) mod outcome;
pub(crate) mod picture;
mod request;
pub(crate) mod trial;

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use serde::Serialize;

use super::chain::{Chain, Side};
use super::rights::refused;
use crate::failure::Failure;

/// How the chain is while something is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    /// Protected, without loss.
    Clean,
    /// With loss, and nobody protects.
    Corrupting,
    /// With loss, and protected.
    Protected,
}

impl State {
    pub(crate) const ALL: [Self; 3] = [Self::Clean, Self::Corrupting, Self::Protected];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Corrupting => "corrupting",
            Self::Protected => "protected",
        }
    }

    /// Brings a chain into this state, by way of one without loss: nothing that is said on the way is lost.
    pub(crate) fn enter(self, chain: &Chain, loss: f64) -> Result<(), Failure> {
        chain.set_loss(0.0)?;
        chain.protect(self != Self::Corrupting)?;
        if self == Self::Clean { Ok(()) } else { chain.set_loss(loss) }
    }
}

const CONNECT: Duration = Duration::from_secs(10);

/// A connection from host A to host B: A's end and B's end.
fn connect(chain: &Chain) -> Result<[TcpStream; 2], Failure> {
    let lost =
        |error: std::io::Error| Failure::Environment(format!("the hosts of the lab do not connect: {error}"));
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
