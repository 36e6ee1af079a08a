//! Captures of real and simulated traffic with known causes.

mod real;
