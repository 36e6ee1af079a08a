//! Values of fields: a number, a text or a list, read strictly and written back exactly.

use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use serde_json::Value as Json;

/// A value that reads itself from a [`Scalar`]. A refusal names the reason and the allowed values.
pub(crate) trait Value: Sized {
    /// Returns the description of allowed values: `a rate such as "100Gbps"`.
    fn expected() -> String;
    /// Reads the value.
    fn read(scalar: &Scalar) -> Result<Self, Refusal>;
    /// Writes the value as it would appear in a file.
    fn write(&self) -> Scalar;
    /// Returns the allowed types, as in JSON schema.
    fn types() -> &'static [&'static str] {
        &["string"]
    }
    /// Returns the names among its values, such as `unlimited`; other spellings of them are accepted.
    fn names() -> &'static [&'static str] {
        &[]
    }
    /// Returns the JSON schema; its title describes the allowed values.
    fn schema() -> Schema {
        let types = match Self::types() {
            [single] => Json::from(*single),
            several => Json::from(several),
        };
        let mut schema = schemars::json_schema!({ "title": Self::expected(), "type": types });
        if !Self::names().is_empty() {
            schema.insert("examples".to_owned(), Json::from(Self::names()));
        }
        schema
    }
}

/// Why a scalar is not the value.
pub(crate) enum Refusal {
    /// It has another type: a number instead of a text.
    Type,
    /// It has the right type and is wrong for this reason.
    Because(String),
}

impl<T: fmt::Display> From<T> for Refusal {
    fn from(why: T) -> Self {
        Self::Because(why.to_string())
    }
}

/// A value of the file before its interpretation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Scalar {
    Integer(i128),
    Float(f64),
    Text(String),
    List(Vec<Self>),
}

impl Scalar {
    pub(crate) fn text(&self) -> Result<&str, Refusal> {
        if let Self::Text(text) = self { Ok(text) } else { Err(Refusal::Type) }
    }

    fn describe(&self) -> String {
        match self {
            Self::Integer(number) => format!("the number `{number}`"),
            Self::Float(number) => format!("the number `{number}`"),
            Self::Text(text) => format!("the text `{text}`"),
            Self::List(_) => "a list".to_owned(),
        }
    }
}

/// Reads a field: `#[serde(with = "value")]`, for types of other crates.
pub(crate) fn deserialize<'de, T: Value, D: Deserializer<'de>>(source: D) -> Result<T, D::Error> {
    source.deserialize_any(ValueVisitor::<T>(PhantomData))
}

/// Writes a field.
pub(crate) fn serialize<T: Value, S: Serializer>(value: &T, sink: S) -> Result<S::Ok, S::Error> {
    value.write().serialize(sink)
}

/// An absent field is `None`; a present one is read as the value itself.
impl<T: Value> Value for Option<T> {
    fn expected() -> String {
        T::expected()
    }

    fn types() -> &'static [&'static str] {
        T::types()
    }

    fn names() -> &'static [&'static str] {
        T::names()
    }

    fn read(scalar: &Scalar) -> Result<Self, Refusal> {
        T::read(scalar).map(Some)
    }

    fn write(&self) -> Scalar {
        self.as_ref().map_or_else(|| Scalar::List(Vec::new()), Value::write)
    }
}

/// Like `value`, but zero is refused: `#[serde(with = "value::positive")]`.
pub(crate) mod positive {
    use serde::de::{Deserializer, Error};

    use super::Value;
    pub(crate) use super::serialize;

    pub(crate) fn deserialize<'de, T, D>(source: D) -> Result<T, D::Error>
    where
        T: Value + Default + PartialEq,
        D: Deserializer<'de>,
    {
        let value: T = super::deserialize(source)?;
        if value == T::default() {
            return Err(Error::custom(format!("must be above zero; expected {}", T::expected())));
        }
        Ok(value)
    }
}

/// The same for a field that may be absent.
pub(crate) mod positive_if_given {
    use serde::de::Deserializer;

    use super::Value;
    pub(crate) use super::serialize;

    pub(crate) fn deserialize<'de, T, D>(source: D) -> Result<Option<T>, D::Error>
    where
        T: Value + Default + PartialEq,
        D: Deserializer<'de>,
    {
        super::positive::deserialize(source).map(Some)
    }
}

/// Schema of a value: `#[schemars(with = "SchemaOf<Rate>")]`.
pub(crate) struct SchemaOf<T>(PhantomData<T>);

impl<T: Value> JsonSchema for SchemaOf<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        T::expected().into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        T::schema()
    }
}

/// Implements the three traits for a [`Value`] that is a type of this crate.
macro_rules! as_value {
    ($type:ty $(, $($generics:tt)+)?) => {
        impl<'de $(, $($generics)+)?> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
                $crate::value::deserialize(source)
            }
        }

        impl $(<$($generics)+>)? serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, sink: S) -> Result<S::Ok, S::Error> {
                $crate::value::serialize(self, sink)
            }
        }

        impl $(<$($generics)+>)? schemars::JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                <Self as $crate::value::Value>::schema()
            }
        }
    };
}
pub(crate) use as_value;

impl Serialize for Scalar {
    fn serialize<S: Serializer>(&self, sink: S) -> Result<S::Ok, S::Error> {
        match self {
            // Every integer that a value writes fits: all of them are bounded below 2^63.
            Self::Integer(number) => sink.serialize_i64(*number as i64),
            Self::Float(number) => sink.serialize_f64(*number),
            Self::Text(text) => sink.serialize_str(text),
            Self::List(items) => items.serialize(sink),
        }
    }
}

/// Refuses inside the visit, so that the error has the place of the value, even in a list.
struct ValueVisitor<T>(PhantomData<T>);

impl<T: Value> ValueVisitor<T> {
    fn read<E: de::Error>(scalar: &Scalar) -> Result<T, E> {
        T::read(scalar).map_err(|refusal| match refusal {
            Refusal::Type => E::custom(format!("found {}; expected {}", scalar.describe(), T::expected())),
            Refusal::Because(why) => E::custom(why),
        })
    }
}

impl<'de, T: Value> Visitor<'de> for ValueVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&T::expected())
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        Self::read(&Scalar::Integer(number.into()))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<T, E> {
        Self::read(&Scalar::Integer(number.into()))
    }

    fn visit_i128<E: de::Error>(self, number: i128) -> Result<T, E> {
        Self::read(&Scalar::Integer(number))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
        Self::read(&Scalar::Float(number))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        Self::read(&Scalar::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<T, A::Error> {
        let mut list = Vec::new();
        while let Some(Item(item)) = items.next_element()? {
            list.push(item);
        }
        Self::read(&Scalar::List(list))
    }
}

/// An element of a list, which is not itself a list.
struct Item(Scalar);

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        deserialize(source).map(Self)
    }
}

impl Value for Scalar {
    fn expected() -> String {
        "a text or a number".to_owned()
    }

    fn read(scalar: &Scalar) -> Result<Self, Refusal> {
        if matches!(scalar, Self::List(_)) { Err(Refusal::Type) } else { Ok(scalar.clone()) }
    }

    fn write(&self) -> Scalar {
        self.clone()
    }
}

/// A value with its place in the text, for later errors about it. Two are equal if their values are, wherever
/// they are.
#[derive(Clone, Debug, Default)]
pub struct Placed<T> {
    /// The value.
    pub value: T,
    /// Its place.
    pub place: Place,
}

/// An offset into the text of a scenario, or an override; opaque except to
/// [`File::error`](crate::File::error).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place(pub(crate) Option<usize>);

impl Place {
    /// Returns the place of an offset, if there is one.
    pub const fn at_offset(offset: Option<usize>) -> Self {
        Self(offset)
    }

    /// Returns this place, or `other` if it is unknown.
    pub const fn or(self, other: Self) -> Self {
        if self.0.is_some() { self } else { other }
    }
}

impl<T> Placed<T> {
    pub(crate) fn without_place(value: T) -> Self {
        Self { value, place: Place(None) }
    }
}

impl<T> std::ops::Deref for Placed<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: PartialEq> PartialEq for Placed<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Placed<T> {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        let spanned = toml::Spanned::<T>::deserialize(source)?;
        Ok(Self { place: Place(Some(spanned.span().start)), value: spanned.into_inner() })
    }
}

impl<T: Serialize> Serialize for Placed<T> {
    fn serialize<S: Serializer>(&self, sink: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(sink)
    }
}

impl<T: JsonSchema> JsonSchema for Placed<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> std::borrow::Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}
