//! Bytes and values: headers, captures, codes.

mod any;
mod captures;
mod corpus;
mod fec;
mod file;
mod link;
mod round_trip;
mod vectors;
