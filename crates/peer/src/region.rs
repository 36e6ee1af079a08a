//! Memory that a peer may access, by key (IBA 10.6).

/// What a peer may do with memory, or by a queue pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Access {
    /// RDMA WRITE.
    pub write: bool,
    /// RDMA READ.
    pub read: bool,
    /// Atomic operations.
    pub atomic: bool,
}

impl Access {
    /// Everything.
    pub const ALL: Self = Self { write: true, read: true, atomic: true };
    /// Nothing.
    pub const NONE: Self = Self { write: false, read: false, atomic: false };

    /// Returns whether all of `needed` is permitted.
    #[inline]
    pub const fn permits(self, needed: Self) -> bool {
        (self.write || !needed.write) && (self.read || !needed.read) && (self.atomic || !needed.atomic)
    }
}

/// A registered memory region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RegionId(u32);

/// Part of a region, for local use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slice {
    /// The region.
    pub region: RegionId,
    /// Offset in the region, in bytes.
    pub offset: u64,
    /// Length in bytes.
    pub len: u32,
}

#[derive(Debug)]
struct Region {
    bytes: Box<[u8]>,
    /// Address of the first byte, as the peer sees it.
    address: u64,
    key: u32,
    access: Access,
    /// False after the key was invalidated.
    is_valid: bool,
}

/// The regions of an endpoint.
#[derive(Debug, Default)]
pub(crate) struct Regions {
    regions: Vec<Region>,
    /// Indexes of released regions.
    free: Vec<u32>,
}

/// Regions of one endpoint. Keys have 24 bits for them.
pub(crate) const REGIONS_MAX: usize = 1 << 16;
/// Low bits of a key, which differ between invalidations.
const VARIANT_BITS: u32 = 8;

impl Regions {
    /// Registers zeroed memory.
    pub(crate) fn register(&mut self, len: u64, access: Access) -> RegionId {
        if let Some(index) = self.free.pop() {
            let region = &mut self.regions[index as usize];
            (region.bytes, region.access) = (vec![0; len as usize].into(), access);
            self.renew_key(RegionId(index));
            return RegionId(index);
        }
        assert!(self.regions.len() < REGIONS_MAX, "an endpoint has at most {REGIONS_MAX} regions");
        let index = self.regions.len() as u32;
        self.regions.push(Region {
            bytes: vec![0; len as usize].into(),
            // Regions are far apart, so that no access reaches from one to another.
            address: u64::from(index + 1) << 36,
            key: index << VARIANT_BITS | 1,
            access,
            is_valid: true,
        });
        RegionId(index)
    }

    /// Returns the memory of a region. Its key is invalid from now on, and nothing may use it any more.
    pub(crate) fn release(&mut self, id: RegionId) {
        let region = &mut self.regions[id.0 as usize];
        (region.bytes, region.is_valid) = (Box::default(), false);
        self.free.push(id.0);
    }

    /// Address and key for the peer.
    pub(crate) fn address_and_key(&self, id: RegionId) -> (u64, u32) {
        let region = &self.regions[id.0 as usize];
        (region.address, region.key)
    }

    /// All bytes of a region.
    pub(crate) fn bytes(&self, id: RegionId) -> &[u8] {
        &self.regions[id.0 as usize].bytes
    }

    /// All bytes of a region.
    pub(crate) fn bytes_mut(&mut self, id: RegionId) -> &mut [u8] {
        &mut self.regions[id.0 as usize].bytes
    }

    /// Bytes of a local slice, from `offset` in the slice on.
    #[inline]
    pub(crate) fn local(&self, slice: Slice, offset: u32, len: u16) -> &[u8] {
        let start = slice.offset as usize + offset as usize;
        &self.regions[slice.region.0 as usize].bytes[start..start + usize::from(len)]
    }

    /// Bytes of a local slice, from `offset` in the slice on.
    #[inline]
    pub(crate) fn local_mut(&mut self, slice: Slice, offset: u32, len: u16) -> &mut [u8] {
        let start = slice.offset as usize + offset as usize;
        &mut self.regions[slice.region.0 as usize].bytes[start..start + usize::from(len)]
    }

    /// Returns whether a slice lies within its region.
    pub(crate) fn contains(&self, slice: Slice) -> bool {
        let end = slice.offset.checked_add(u64::from(slice.len));
        self.regions
            .get(slice.region.0 as usize)
            .is_some_and(|region| end.is_some_and(|end| end <= region.bytes.len() as u64))
    }

    /// The memory that a peer names by key and address, if its key permits the access.
    #[inline]
    pub(crate) fn remote(&mut self, key: u32, address: u64, len: u32, needed: Access) -> Option<&mut [u8]> {
        let region = self.by_key(key).filter(|region| region.access.permits(needed))?;
        let start = usize::try_from(address.checked_sub(region.address)?).ok()?;
        region.bytes.get_mut(start..start.checked_add(len as usize)?)
    }

    /// Returns whether the key is valid.
    pub(crate) fn is_valid(&mut self, key: u32) -> bool {
        self.by_key(key).is_some()
    }

    /// Makes a key invalid. Returns false if it was not valid.
    pub(crate) fn invalidate(&mut self, key: u32) -> bool {
        self.by_key(key).map(|region| region.is_valid = false).is_some()
    }

    /// Gives an invalidated region a new key.
    pub(crate) fn renew_key(&mut self, id: RegionId) -> u32 {
        let region = &mut self.regions[id.0 as usize];
        let variant = (region.key as u8).wrapping_add(1);
        (region.key, region.is_valid) = (region.key & !0xFF | u32::from(variant), true);
        region.key
    }

    #[inline]
    fn by_key(&mut self, key: u32) -> Option<&mut Region> {
        let region = self.regions.get_mut((key >> VARIANT_BITS) as usize)?;
        (region.key == key && region.is_valid).then_some(region)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_bounds_and_permissions_are_checked() {
        let mut regions = Regions::default();
        let read_only = Access { read: true, ..Access::NONE };
        let first = regions.register(100, Access::ALL);
        let second = regions.register(50, read_only);
        let (address, key) = regions.address_and_key(second);
        assert!(regions.remote(key, address + 10, 40, read_only).is_some());
        assert!(regions.remote(key, address + 10, 41, read_only).is_none());
        assert!(regions.remote(key, address - 1, 1, read_only).is_none());
        assert!(regions.remote(key, address, 1, Access { write: true, ..read_only }).is_none());
        assert!(regions.remote(key, u64::MAX, u32::MAX, read_only).is_none());
        for other in [0, key + 1, key - 1, u32::MAX, regions.address_and_key(first).1] {
            assert!(regions.remote(other, address, 1, read_only).is_none(), "{other:#x}");
        }
    }

    #[test]
    fn an_invalidated_key_is_refused_until_the_region_has_a_new_one() {
        let mut regions = Regions::default();
        let id = regions.register(8, Access::ALL);
        let (address, key) = regions.address_and_key(id);
        assert!(regions.invalidate(key) && !regions.invalidate(key));
        assert!(regions.remote(key, address, 8, Access::NONE).is_none());
        let new = regions.renew_key(id);
        assert!(new != key && regions.remote(new, address, 8, Access::NONE).is_some());
        assert!(!regions.is_valid(key));
        regions.release(id);
        assert!(!regions.is_valid(new));
        let reused = regions.register(20, Access::ALL);
        let (_, last) = regions.address_and_key(reused);
        assert!(reused == id && last != new && regions.remote(last, address, 20, Access::ALL).is_some());
    }
}
