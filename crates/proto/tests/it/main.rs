//! The protocol cores end to end, each on the test kit's two hosts and fake clock.

mod common;
mod corpus;
mod counting;
mod dcp;
mod fec;
mod fec_bytes;
mod link;
mod link_paper;
mod pfc;
mod rc;
mod sr;
mod tcp;
