//! The reliable connection end to end, over a wire with scripted losses.

mod acks;
mod credits;
mod errors;
mod hostile;
mod livelock;
mod mend;
mod messages;
mod profile;
mod reads;
mod receive_buffers;
mod swarm;
mod timeouts;

use wiremend_proto::rc::Config;
use wiremend_units::Span;

/// A timeout far above the round trip, so that it never fires without a loss.
const TIMEOUT: Span = Span::from_us(100);

/// MTU 256, so that messages of a few packets are small.
fn config() -> Config {
    Config { mtu: 256, timeout: Some(TIMEOUT), ..Config::default() }
}
