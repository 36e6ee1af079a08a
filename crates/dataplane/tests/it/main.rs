//! Integration tests: data paths in memory, and the kernel interfaces that relays use.
#![cfg(target_os = "linux")]

mod attacks;
mod classes;
mod corpus;
mod datapath;
mod datapath_pair;
mod http;
mod net;
mod patience;
mod relay;
mod statistics;
mod xdp;
