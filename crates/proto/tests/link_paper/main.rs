//! The published prototype of `LinkGuardian`: what it does. What it cannot do is told in the test kit, beside the protocol that can.

mod behaviour;
mod pair;
