//! Macros for sets of counters.

/// Lists counters for digests: each name is a prefix and the field name.
macro_rules! named {
    ($prefix:literal, $self:ident: $($field:ident),+) => {
        [$((concat!($prefix, stringify!($field)), u64::from($self.$field))),+]
    };
}

/// Adds the counters of another set.
macro_rules! add {
    ($self:ident, $other:ident: $($field:ident),+) => {
        $($self.$field += $other.$field;)+
    };
}
