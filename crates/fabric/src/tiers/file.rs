//! A fabric from a file, with the items that are not part of it.

use super::builder::{BuiltTiers, Item, TiersBuilder};
use super::error::{TiersError, TiersFault};
use super::network::Tiers;

/// A fabric from a file. Invalid items are skipped.
#[derive(Clone, Debug)]
pub struct TiersFile {
    /// The fabric without the skipped items.
    pub tiers: Tiers,
    /// The skipped items, in the order of the file.
    pub skipped: Vec<TiersError>,
}

impl TiersFile {
    /// Returns the fabric, or the first skipped item.
    pub fn strict(self) -> Result<Tiers, TiersError> {
        self.skipped.into_iter().next().map_or(Ok(self.tiers), Err)
    }

    /// Builds the fabric. `place_of` returns the error of a fault that concerns an earlier item.
    pub(super) fn build(
        builder: TiersBuilder,
        mut skipped: Vec<TiersError>,
        place_of: impl Fn(Item, TiersFault) -> TiersError,
    ) -> Result<Self, TiersError> {
        match builder.build_with_faults() {
            Ok(BuiltTiers { tiers, faults }) => {
                skipped.extend(faults.into_iter().map(|(item, fault)| place_of(item, fault)));
                Ok(Self { tiers, skipped })
            }
            // Nothing is left because of invalid items: the first of them says more.
            Err(TiersFault::Empty | TiersFault::NoUplinks(_) | TiersFault::NoPathUp(_))
                if !skipped.is_empty() =>
            {
                Err(skipped.swap_remove(0))
            }
            Err(fault) => Err(TiersError::whole(fault)),
        }
    }
}
