//! Addition of counters.

/// Implements `+=` field by field: as a sum, as the larger value, or as the earlier of two optional times.
macro_rules! add_counters {
    ($counters:ident; sum $($sum:ident),+ $(; max $($max:ident),+)? $(; first $($first:ident),+)?) => {
        impl std::ops::AddAssign for $counters {
            fn add_assign(&mut self, other: Self) {
                $(self.$sum += other.$sum;)+
                $($(self.$max = self.$max.max(other.$max);)+)?
                $($(self.$first = self.$first.into_iter().chain(other.$first).min();)+)?
            }
        }
    };
}
