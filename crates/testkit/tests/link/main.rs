//! Protected links, from lost frames to restarts of either end.

mod explore;
mod invariants;
mod recovery;
mod swarm;
