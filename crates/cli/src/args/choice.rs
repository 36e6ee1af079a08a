//! Options whose value is one of a few names.

use std::ffi::OsStr;
use std::marker::PhantomData;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Command, ValueEnum};
use wiremend_units::{canonical_name, unknown_name};

/// Reads one of the names of `E`. Case, `-` and `_` do not count.
pub(crate) const fn choice<E>() -> Choice<E> {
    Choice(PhantomData)
}

#[derive(Clone)]
pub(crate) struct Choice<E>(PhantomData<E>);

impl<E: ValueEnum + Clone + Send + Sync + 'static> TypedValueParser for Choice<E> {
    type Value = E;

    fn parse_ref(&self, _: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<E, clap::Error> {
        let text = value.to_string_lossy();
        let values: Vec<PossibleValue> = possible_values::<E>().collect();
        let names: Vec<&str> = values.iter().map(PossibleValue::get_name).collect();
        let found = canonical_name(&text, &names).and_then(|name| E::from_str(name, false).ok());
        found.ok_or_else(|| {
            let option = arg.and_then(Arg::get_long).map_or(String::new(), |name| format!("--{name}: "));
            let why = unknown_name("value", &text, &names);
            clap::Error::raw(ErrorKind::InvalidValue, format!("{option}{why}"))
        })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(possible_values::<E>()))
    }
}

fn possible_values<E: ValueEnum + 'static>() -> impl Iterator<Item = PossibleValue> {
    E::value_variants().iter().filter_map(ValueEnum::to_possible_value)
}
