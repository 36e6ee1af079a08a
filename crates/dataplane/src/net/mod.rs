//! What interfaces there are, and how they are joined.
