//! The kernel's TCP over a chain.
//!
//! `bulk` sends as fast as congestion control allows, `request` sends small requests. A [`Trial`] runs both
//! in the three [`LinkState`](wiremend_report::lab::LinkState)s, in interleaved rounds, so that other load
//! affects all alike.

pub(crate) mod bulk;
mod flows;
mod host_delay;
mod outcome;
mod request;
mod trial;

pub use bulk::available;
pub use flows::{FLOW_KINDS, FlowKind, FlowTimes, ShortFlows};
pub use host_delay::host_delays;
pub use outcome::{Goodput, Latency, Outcome, Timeline, Transfers};
pub use trial::Trial;

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use super::chain::{Chain, Side};
use crate::error::Error;
use crate::privileges::net_error;

const CONNECT_LIMIT: Duration = Duration::from_mins(2);

fn connect(chain: &Chain) -> Result<[TcpStream; 2], Error> {
    let failed =
        |error: std::io::Error| Error::Environment(format!("the hosts of the lab cannot connect: {error}"));
    let address = SocketAddr::from((Side::B.address(), 0));
    let listener =
        chain.host(Side::B).run(|| TcpListener::bind(address)).map_err(net_error)?.map_err(failed)?;
    let port = listener.local_addr().map_err(failed)?;
    let near = chain
        .host(Side::A)
        .run(|| TcpStream::connect_timeout(&port, CONNECT_LIMIT))
        .map_err(net_error)?
        .map_err(failed)?;
    let (far, _) = listener.accept().map_err(failed)?;
    Ok([near, far])
}
