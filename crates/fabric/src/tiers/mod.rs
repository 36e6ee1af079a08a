//! A fabric from the operator's view: switches in tiers, links between them, and the number of paths of
//! each rack to the top tier.
//!
//! A [`Tiers`] is built from a [`FabricShape`] (Facebook's fabric, a fat-tree, leaf–spine) or parsed from a
//! file ([`parse_csv`], [`parse_json`]): any number of tiers, parallel links, LAGs, ports that share a
//! cable. It has no hosts and no routes; packets are simulated on a [`Graph`](crate::Graph).
//!
//! [`PathCounts`] counts the paths of every ToR to the top tier. The count of a switch is the sum of the
//! counts of its upper ends, so no search is necessary, and a link that goes down or up changes only the
//! switches below it. [`Bandwidths`] measures the maximum flow of every ToR, pod and domain to the top tier.
//!
//! ```
//! use wiremend_fabric::tiers::{FabricShape, PathCounts, ScopeAmounts as _};
//! use wiremend_units::{LinkId, Rate};
//!
//! let tiers = FabricShape::FACEBOOK.build(Rate::gbps(100))?;
//! assert_eq!(tiers.link_count(), 100_224);
//! let mut paths = PathCounts::new(&tiers);
//! let link = LinkId(0);
//! let tor = tiers.link(link).lower;
//! assert_eq!(paths.count(tor), 192);
//! paths.take_down(link);
//! assert_eq!(paths.count(tor), 144);
//! # Ok::<(), wiremend_fabric::tiers::TiersError>(())
//! ```

mod bandwidths;
mod builder;
mod csv;
mod error;
mod file;
mod json;
mod link_service;
mod max_flow;
mod network;
mod path_counts;
mod scope;
mod scope_amounts;
mod shape;
mod trunks;

pub use bandwidths::{Bandwidths, Cut};
pub use builder::{ConstraintScope, NamedTierLink, PATHS_MAX, TIERS_MAX, TiersBuilder};
pub use csv::{parse_csv, read_csv};
pub use error::{TiersError, TiersFault};
pub use file::TiersFile;
pub use json::{parse_json, read_json};
pub use link_service::LinkService;
pub use network::{Constraints, TierLink, Tiers};
pub use path_counts::PathCounts;
pub use scope::{Scope, ScopeId};
pub use scope_amounts::ScopeAmounts;
pub use shape::FabricShape;
