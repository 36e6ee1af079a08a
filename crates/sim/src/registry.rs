//! What scenarios may name beside what their own types know: the registry.
//!
//! Something registered has a name and a function that makes it from the [`Settings`] that a scenario gives. Programs outside of this
//! tree add their own; what is in the tree and has no table of its own in scenarios has its line in [`Registry::default`].

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use wiremend_impair::CorruptionModel;
use wiremend_proto::cc::Algorithm;
use wiremend_proto::sr::OtherScheme;
use wiremend_scenario::{Names, Registered};
use wiremend_units::{BadSetting, Settings, or_nearest};

use crate::app::{Applications, Site};

/// What scenarios may name beside what their own types know.
///
/// A function that makes something takes the values that it knows out of the [`Settings`]. What it leaves is refused as unknown.
#[derive(Clone)]
pub struct Registry {
    congestion: Makers<(), Arc<dyn Algorithm>>,
    recovery: Makers<(), Arc<dyn OtherScheme>>,
    workloads: Makers<Site, Applications>,
    impairments: Makers<u64, Box<dyn CorruptionModel>>,
}

impl Default for Registry {
    fn default() -> Self {
        Self {
            congestion: Makers::new("congestion control"),
            recovery: Makers::new("recovery"),
            workloads: Makers::new("kind of workload"),
            impairments: Makers::new("kind of impairment"),
        }
    }
}

impl Registry {
    /// A congestion control: `transport.congestion = "NAME"`, or `transport.congestion = { kind = "NAME", … }` with values.
    pub fn congestion<A: Algorithm + 'static>(
        &mut self,
        name: &str,
        make: impl Fn(&mut Settings) -> Result<A, BadSetting> + Send + Sync + 'static,
    ) -> &mut Self {
        self.congestion.add(name, move |settings, ()| make(settings).map(|made| Arc::new(made) as _));
        self
    }

    /// A recovery policy for connections that take packets in any order: `transport.recovery = "NAME"`, or
    /// `transport.recovery = { kind = "NAME", … }` with values. `[transport.selective-repeat]` is for it too.
    pub fn recovery<S: OtherScheme + 'static>(
        &mut self,
        name: &str,
        make: impl Fn(&mut Settings) -> Result<S, BadSetting> + Send + Sync + 'static,
    ) -> &mut Self {
        self.recovery.add(name, move |settings, ()| make(settings).map(|made| Arc::new(made) as _));
        self
    }

    /// A workload: `kind = "NAME"` in `[[workload]]`, with values beside it. `make` is told where it is put.
    pub fn workload(
        &mut self,
        name: &str,
        make: impl Fn(&mut Settings, Site) -> Result<Applications, BadSetting> + Send + Sync + 'static,
    ) -> &mut Self {
        self.workloads.add(name, make);
        self
    }

    /// An impairment: `kind = "NAME"` in `[[impair]]`, with values beside it. `make` is called for each direction of a link, with a seed
    /// of its own.
    pub fn impairment<M: CorruptionModel + 'static>(
        &mut self,
        name: &str,
        make: impl Fn(&mut Settings, u64) -> Result<M, BadSetting> + Send + Sync + 'static,
    ) -> &mut Self {
        self.impairments
            .add(name, move |settings, seed| make(settings, seed).map(|made| Box::new(made) as _));
        self
    }

    /// What there is, for who reads scenarios.
    pub fn names(&self) -> Names {
        Names {
            congestion: self.congestion.names(),
            recovery: self.recovery.names(),
            workloads: self.workloads.names(),
            impairments: self.impairments.names(),
        }
    }

    pub(crate) fn make_congestion(&self, registered: &Registered) -> Result<Arc<dyn Algorithm>, BadSetting> {
        self.congestion.make(registered, ())
    }

    pub(crate) fn make_recovery(&self, registered: &Registered) -> Result<Arc<dyn OtherScheme>, BadSetting> {
        self.recovery.make(registered, ())
    }

    pub(crate) fn make_workload(
        &self,
        registered: &Registered,
        site: Site,
    ) -> Result<Applications, BadSetting> {
        self.workloads.make(registered, site)
    }

    pub(crate) fn make_impairment(
        &self,
        registered: &Registered,
        seed: u64,
    ) -> Result<Box<dyn CorruptionModel>, BadSetting> {
        self.impairments.make(registered, seed)
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.names().fmt(f)
    }
}

/// How to make things of one sort, by name. Beside the settings they are told where they are put.
struct Makers<Where, T> {
    /// What they are, in messages.
    what: &'static str,
    by_name: BTreeMap<String, Make<Where, T>>,
}

type Make<Where, T> = Arc<dyn Fn(&mut Settings, Where) -> Result<T, BadSetting> + Send + Sync>;

impl<Where, T> Makers<Where, T> {
    fn new(what: &'static str) -> Self {
        Self { what, by_name: BTreeMap::new() }
    }

    fn add(
        &mut self,
        name: &str,
        make: impl Fn(&mut Settings, Where) -> Result<T, BadSetting> + Send + Sync + 'static,
    ) {
        self.by_name.insert(name.to_owned(), Arc::new(make));
    }

    fn names(&self) -> Vec<String> {
        self.by_name.keys().cloned().collect()
    }

    /// Makes what a scenario names.
    fn make(&self, registered: &Registered, site: Where) -> Result<T, BadSetting> {
        let mut settings = registered.0.clone();
        let Some(make) = self.by_name.get(settings.name()) else {
            let names: Vec<_> = self.by_name.keys().map(String::as_str).collect();
            return Err(settings.error(or_nearest(self.what, settings.name(), &names)));
        };
        let made = make(&mut settings, site)?;
        settings.finish()?;
        Ok(made)
    }
}

impl<Where, T> Clone for Makers<Where, T> {
    fn clone(&self) -> Self {
        Self { what: self.what, by_name: self.by_name.clone() }
    }
}
