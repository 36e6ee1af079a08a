//! Selective-repeat connections end to end.

mod schemes;
mod swarm;

use wiremend_proto::rc;
use wiremend_proto::sr::{Config, Scheme};

/// A scheme with packets of 256 B and a window of 32.
fn config(scheme: Scheme) -> Config {
    Config::new(scheme, rc::Config { mtu: 256, window: 32, ..rc::Config::default() })
}
