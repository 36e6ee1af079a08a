//! What things with names in files have in common.

/// An enum whose cases have names in files, each beside its case.
macro_rules! keyed {
    ($(#[$meta:meta])* $keyed:ident { $($(#[$doc:meta])* $case:ident = $key:literal,)+ }) => {
        $(#[$meta])*
        pub enum $keyed {
            $($(#[$doc])* $case,)+
        }

        impl $keyed {
            /// Every case, in the order of codes, tables and drawings.
            pub const ALL: [Self; [$($key),+].len()] = [$(Self::$case),+];

            /// The name in files.
            pub const fn key(self) -> &'static str {
                match self {
                    $(Self::$case => $key,)+
                }
            }
        }
    };
}
