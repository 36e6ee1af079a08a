//! Algorithms, workloads and impairments that scenarios use by name.
//!
//! An entry is a name and a factory function that takes the [`Settings`] of the scenario. Programs outside
//! this tree register their own entries. Entries of this tree that have no scenario table of their own belong
//! in [`Registry::default`].

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use wiremend_impair::CorruptionModel;
use wiremend_proto::cc::Algorithm;
use wiremend_proto::sr::CustomScheme;
use wiremend_scenario::{Registered, RegisteredNames};
use wiremend_units::{BadSetting, Settings, unknown_name};

use crate::app::{Applications, WorkloadContext};

/// Algorithms, workloads and impairments that scenarios use by name, beside the built-in ones.
///
/// A factory removes the values that it uses from the [`Settings`]. The registry rejects the values that are
/// left as unknown.
#[derive(Clone)]
pub struct Registry {
    congestion: Factories<(), Arc<dyn Algorithm>>,
    recovery: Factories<(), Arc<dyn CustomScheme>>,
    workloads: Factories<WorkloadContext, Applications>,
    impairments: Factories<u64, Box<dyn CorruptionModel>>,
}

impl Default for Registry {
    fn default() -> Self {
        Self {
            congestion: Factories::new("congestion control"),
            recovery: Factories::new("recovery"),
            workloads: Factories::new("kind of workload"),
            impairments: Factories::new("kind of impairment"),
        }
    }
}

impl Registry {
    /// Registers a congestion control: `transport.congestion = "NAME"`, or `transport.congestion = { kind =
    /// "NAME", … }` with values.
    pub fn congestion<A: Algorithm + 'static>(
        &mut self,
        name: &str,
        make: impl Fn(&mut Settings) -> Result<A, BadSetting> + Send + Sync + 'static,
    ) -> &mut Self {
        self.congestion.add(name, move |settings, ()| make(settings).map(|instance| Arc::new(instance) as _));
        self
    }

    /// Registers a recovery policy for connections that accept packets in any order: `transport.recovery =
    /// "NAME"`, or `transport.recovery = { kind = "NAME", … }` with values. The table
    /// `[transport.selective-repeat]` applies to it.
    pub fn recovery<S: CustomScheme + 'static>(
        &mut self,
        name: &str,
        make: impl Fn(&mut Settings) -> Result<S, BadSetting> + Send + Sync + 'static,
    ) -> &mut Self {
        self.recovery.add(name, move |settings, ()| make(settings).map(|instance| Arc::new(instance) as _));
        self
    }

    /// Registers a workload: `kind = "NAME"` in `[[workload]]`, with values beside it. `make` also gets the
    /// context of the workload.
    pub fn workload(
        &mut self,
        name: &str,
        make: impl Fn(&mut Settings, WorkloadContext) -> Result<Applications, BadSetting> + Send + Sync + 'static,
    ) -> &mut Self {
        self.workloads.add(name, make);
        self
    }

    /// Registers an impairment: `kind = "NAME"` in `[[impair]]`, with values beside it. `make` is called once
    /// for each direction of a link, each time with another seed.
    pub fn impairment<M: CorruptionModel + 'static>(
        &mut self,
        name: &str,
        make: impl Fn(&mut Settings, u64) -> Result<M, BadSetting> + Send + Sync + 'static,
    ) -> &mut Self {
        self.impairments
            .add(name, move |settings, seed| make(settings, seed).map(|instance| Box::new(instance) as _));
        self
    }

    /// Returns all registered names, for the scenario parser.
    pub fn names(&self) -> RegisteredNames {
        RegisteredNames {
            congestion: self.congestion.names(),
            recovery: self.recovery.names(),
            workloads: self.workloads.names(),
            impairments: self.impairments.names(),
        }
    }

    pub(crate) fn make_congestion(&self, registered: &Registered) -> Result<Arc<dyn Algorithm>, BadSetting> {
        self.congestion.make(registered, ())
    }

    pub(crate) fn make_recovery(&self, registered: &Registered) -> Result<Arc<dyn CustomScheme>, BadSetting> {
        self.recovery.make(registered, ())
    }

    pub(crate) fn make_workload(
        &self,
        registered: &Registered,
        argument: WorkloadContext,
    ) -> Result<Applications, BadSetting> {
        self.workloads.make(registered, argument)
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

/// The factories of one kind, by name. `Argument` is their second argument.
struct Factories<Argument, T> {
    /// Name of the kind in error messages.
    kind: &'static str,
    by_name: BTreeMap<String, Factory<Argument, T>>,
}

type Factory<Argument, T> = Arc<dyn Fn(&mut Settings, Argument) -> Result<T, BadSetting> + Send + Sync>;

impl<Argument, T> Factories<Argument, T> {
    fn new(kind: &'static str) -> Self {
        Self { kind, by_name: BTreeMap::new() }
    }

    fn add(
        &mut self,
        name: &str,
        make: impl Fn(&mut Settings, Argument) -> Result<T, BadSetting> + Send + Sync + 'static,
    ) {
        self.by_name.insert(name.to_owned(), Arc::new(make));
    }

    fn names(&self) -> Vec<String> {
        self.by_name.keys().cloned().collect()
    }

    /// Calls the factory that a scenario names.
    fn make(&self, registered: &Registered, argument: Argument) -> Result<T, BadSetting> {
        let mut settings = registered.0.clone();
        let Some(make) = self.by_name.get(settings.name()) else {
            let names: Vec<_> = self.by_name.keys().map(String::as_str).collect();
            return Err(settings.error(unknown_name(self.kind, settings.name(), &names)));
        };
        let instance = make(&mut settings, argument)?;
        settings.finish()?;
        Ok(instance)
    }
}

impl<Argument, T> Clone for Factories<Argument, T> {
    fn clone(&self) -> Self {
        Self { kind: self.kind, by_name: self.by_name.clone() }
    }
}
