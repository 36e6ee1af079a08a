//! Two endpoints back to back on a fake clock, and a hostile peer.

mod duo;
mod hostile;
mod losses;
mod swarm;
mod verbs;
