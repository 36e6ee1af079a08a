//! Messages to the kernel about interfaces.
