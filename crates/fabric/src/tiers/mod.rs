//! A fabric as its operator sees it: switches in tiers, links that lead up, and how many ways a rack has to the top.
//!
//! A [`Tiers`] comes from a [`Shape`] (Facebook's fabric, a fat-tree, leaf–spine) or from a file ([`parse_csv`],
//! [`parse_json`]): any number of tiers, parallel links, bundles, ports that share a cable. It has no hosts and no
//! routes: [`Graph`](crate::Graph) is what packets are sent over, this is what links are taken out of.
//!
//! [`Paths`] counts the ways up of every ToR. The number is the sum of the numbers of its upper ends, so that it is
//! computed and never searched for, and a link that goes or comes changes only the switches below it.
//!
//! ```
//! use wiremend_fabric::tiers::{Paths, Shape};
//! use wiremend_units::{LinkId, Rate};
//!
//! let tiers = Shape::FACEBOOK.build(Rate::gbps(100))?;
//! assert_eq!(tiers.link_count(), 100_224);
//! let mut paths = Paths::new(&tiers);
//! let link = LinkId(0);
//! let tor = tiers.link(link).lower;
//! assert_eq!(paths.of(tor), 192);
//! paths.take_down(link);
//! assert_eq!(paths.of(tor), 144);
//! # Ok::<(), wiremend_fabric::tiers::TiersError>(())
//! ```

mod csv;
mod error;
mod json;
mod network;
mod parts;
mod paths;
mod shape;

pub use csv::parse_csv;
pub use error::{TiersError, TiersFault};
pub use json::parse_json;
pub use network::{TierLink, Tiers};
pub use parts::{NamedTierLink, PATHS_MAX, Parts, TIERS_MAX};
pub use paths::Paths;
pub use shape::Shape;
