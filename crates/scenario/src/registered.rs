//! References to algorithms that programs register.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use toml::Spanned;
use wiremend_units::{Setting, Settings, unknown_name};

/// An algorithm that a program registered: its name (`"mine"`), or a table with its name and settings (`{
/// kind = "mine", gain = 0.5 }`).
#[derive(Clone, Debug, PartialEq)]
pub struct Registered(pub Settings);

/// The names that a program registered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegisteredNames {
    /// For `transport.congestion`.
    pub congestion: Vec<String>,
    /// For `transport.recovery`.
    pub recovery: Vec<String>,
    /// For `kind` in `[[workload]]`.
    pub workloads: Vec<String>,
    /// For `kind` in `[[impair]]`.
    pub impairments: Vec<String>,
}

impl Registered {
    /// Returns the built-in algorithm of this name, which takes no settings here, or else a registered one.
    pub(crate) fn or_known<T: Clone, E: de::Error>(
        self,
        known: &[(&str, T)],
        registered: impl FnOnce(Self) -> T,
    ) -> Result<T, E> {
        match known.iter().find(|(name, _)| *name == self.0.name()) {
            None => Ok(registered(self)),
            Some((_, known)) if self.0.iter().next().is_none() => Ok(known.clone()),
            Some((name, _)) => {
                Err(E::custom(format!("`{name}` takes no settings here; write its name alone, `\"{name}\"`")))
            }
        }
    }

    /// Returns the error if the name is neither in `known` nor in `names`.
    pub(crate) fn unknown(&self, known: &[&str], names: &[String]) -> Option<String> {
        if names.iter().any(|name| name == self.0.name()) {
            return None;
        }
        let all: Vec<_> = known.iter().copied().chain(names.iter().map(String::as_str)).collect();
        Some(unknown_name("value", self.0.name(), &all))
    }
}

impl<'de> Deserialize<'de> for Registered {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        source.deserialize_any(RegisteredVisitor)
    }
}

impl Serialize for Registered {
    fn serialize<S: Serializer>(&self, sink: S) -> Result<S::Ok, S::Error> {
        let mut map = sink.serialize_map(None)?;
        map.serialize_entry("kind", self.0.name())?;
        for (key, value) in self.0.iter() {
            match value {
                Setting::Text(text) => map.serialize_entry(key, text)?,
                Setting::Integer(number) => map.serialize_entry(key, number)?,
                Setting::Float(number) => map.serialize_entry(key, number)?,
                Setting::Flag(flag) => map.serialize_entry(key, flag)?,
            }
        }
        map.end()
    }
}

struct RegisteredVisitor;

impl<'de> Visitor<'de> for RegisteredVisitor {
    type Value = Registered;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name, or a table with `kind`")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<Registered, E> {
        Ok(Registered(Settings::new(name, None)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Registered, A::Error> {
        let (mut name, mut values) = (None, Vec::new());
        while let Some(key) = fields.next_key::<String>()? {
            if key == "kind" {
                name = Some(fields.next_value::<Spanned<String>>()?);
            } else {
                values.push((key, fields.next_value::<Spanned<Scalar>>()?));
            }
        }
        let name = name.ok_or_else(|| de::Error::missing_field("kind"))?;
        let mut settings = Settings::new(name.get_ref(), Some(name.span().start));
        for (key, value) in values {
            let offset = value.span().start;
            settings.insert(key, value.into_inner().0, Some(offset));
        }
        Ok(Registered(settings))
    }
}

/// One value.
struct Scalar(Setting);

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        source.deserialize_any(ScalarVisitor)
    }
}

struct ScalarVisitor;

impl Visitor<'_> for ScalarVisitor {
    type Value = Scalar;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a number, true or false")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Scalar, E> {
        Ok(Scalar(Setting::Text(text.to_owned())))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Scalar, E> {
        Ok(Scalar(Setting::Integer(number)))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Scalar, E> {
        Ok(Scalar(Setting::Float(number)))
    }

    fn visit_bool<E: de::Error>(self, flag: bool) -> Result<Scalar, E> {
        Ok(Scalar(Setting::Flag(flag)))
    }
}
