//! The protocol cores end to end, each on the test kit's two hosts and fake clock.

mod common;
mod corpus;
mod counting_allocator;
mod dcp;
mod fec;
mod fec_bytes;
mod link;
mod link_prototype;
mod pfc;
mod rc;
mod sr;
mod tcp;
