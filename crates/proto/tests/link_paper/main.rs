//! The published prototype of `LinkGuardian`: what it does, and what it cannot do.

mod behaviour;
mod defects;
mod pair;
