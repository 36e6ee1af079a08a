//! Capacity that every ToR, pod and domain must keep.

use wiremend_fabric::tiers::ScopeId;

use crate::capacity::Capacity;

/// Capacity that every scope must keep, by its number.
#[derive(Clone, Debug)]
pub struct RequiredCapacity(Vec<u64>);

impl RequiredCapacity {
    /// Requires the share `constraint` of each scope's capacity, rounded up.
    pub fn new<C: Capacity + ?Sized>(capacity: &mut C, constraint: f64) -> Self {
        let mut required = Self(vec![0; capacity.scope_count()]);
        for scope in capacity.scopes() {
            required.set(scope, capacity.amount(scope), constraint);
        }
        required
    }

    /// Sets another share for one scope with the capacity `all` in total.
    pub fn set(&mut self, scope: ScopeId, all: u64, constraint: f64) {
        let exact = all as f64 * constraint;
        // In floating point 100 × 0.07 is slightly more than 7; it must not round up to 8.
        let nearest = exact.round();
        let is_whole = (exact - nearest).abs() <= exact * 1e-12;
        self.0[scope.index()] = if is_whole { nearest } else { exact.ceil() } as u64;
    }

    /// Lowers the requirement to the existing capacity, if there is less.
    pub fn lower_to(&mut self, scope: ScopeId, amount: u64) {
        let required = &mut self.0[scope.index()];
        *required = (*required).min(amount);
    }

    /// Sets the required capacity of one scope.
    pub fn reset(&mut self, scope: ScopeId, amount: u64) {
        self.0[scope.index()] = amount;
    }

    /// Returns the required capacity of a scope.
    pub fn get(&self, scope: ScopeId) -> u64 {
        self.0[scope.index()]
    }

    /// Returns the first of these scopes that has too little capacity.
    pub fn first_short<C: Capacity + ?Sized>(&self, capacity: &mut C, scopes: &[ScopeId]) -> Option<ScopeId> {
        scopes.iter().copied().find(|scope| capacity.amount(*scope) < self.get(*scope))
    }

    /// Returns the first scope with too little capacity after the last change.
    pub fn first_short_after_change<C: Capacity + ?Sized>(&self, capacity: &mut C) -> Option<ScopeId> {
        let mut place = 0;
        while let Some(scope) = capacity.changed().get(place).copied() {
            if capacity.amount(scope) < self.get(scope) {
                return Some(scope);
            }
            place += 1;
        }
        None
    }
}
