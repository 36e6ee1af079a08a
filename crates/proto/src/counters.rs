//! What all sets of counters can do.

/// Counters by name, for digests: each is called as its field, behind a prefix.
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
