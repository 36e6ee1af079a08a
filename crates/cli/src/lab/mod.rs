//! The lab: real kernels and real transports at the two ends of a link that we impair and protect.

pub(crate) mod guests;
