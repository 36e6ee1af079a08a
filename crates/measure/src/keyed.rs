//! Enums with names in files.

/// Defines an enum with a name in files for each variant.
macro_rules! keyed {
    ($(#[$meta:meta])* $keyed:ident { $($(#[$doc:meta])* $case:ident = $key:literal,)+ }) => {
        $(#[$meta])*
        pub enum $keyed {
            $($(#[$doc])* $case,)+
        }

        impl $keyed {
            /// All variants, in the order of codes, tables and drawings.
            pub const ALL: [Self; [$($key),+].len()] = [$(Self::$case),+];

            /// Name in files.
            pub const fn key(self) -> &'static str {
                match self {
                    $(Self::$case => $key,)+
                }
            }
        }
    };
}
