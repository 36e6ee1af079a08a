//! What all sets of counters can do.

/// `+=` of counters, field by field: a sum, the largest of both, or the first there is of two instants.
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
