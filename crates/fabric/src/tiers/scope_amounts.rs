//! What all measures of capacity have in common.

use wiremend_units::LinkId;

use super::link_service::LinkService;
use super::network::Tiers;
use super::scope::{Scope, ScopeId};

/// An amount of each scope over the links that carry traffic, kept up to date when a link changes.
pub trait ScopeAmounts {
    /// Returns the fabric.
    fn tiers(&self) -> &Tiers;
    /// Returns which links are in service.
    fn service(&self) -> &LinkService<'_>;
    /// Takes a link out of service or puts it back; no effect if it is there already.
    fn set(&mut self, link: LinkId, up: bool);
    /// Returns the scopes that the last change may have affected.
    fn changed(&self) -> &[ScopeId];
    /// Returns all scopes that are measured.
    fn scopes(&self) -> Vec<ScopeId>;
    /// Returns the scope with this number.
    fn scope(&self, id: ScopeId) -> Scope;
    /// Returns the number of scope numbers.
    fn scope_count(&self) -> usize;
    /// Returns the amount of a scope.
    fn amount(&mut self, scope: ScopeId) -> u64;

    /// Returns whether a link is in service.
    fn is_up(&self, link: LinkId) -> bool {
        self.service().is_up(link)
    }

    /// Returns whether a link carries traffic: it is in service, and its LAG has enough members.
    fn carries(&self, link: LinkId) -> bool {
        self.service().carries(link)
    }

    /// Takes a link out of service.
    fn take_down(&mut self, link: LinkId) {
        self.set(link, false);
    }

    /// Puts a link into service.
    fn bring_up(&mut self, link: LinkId) {
        self.set(link, true);
    }
}
