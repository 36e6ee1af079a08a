//! Which flows are recorded.

use crate::quantity::Within;
use crate::value::{Refusal, Scalar, Value, as_value};

/// A bounded set of flows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FlowSet {
    /// The first flows of each workload.
    First(FlowCount),
    /// Flows by number, ascending.
    Listed(Vec<u64>),
}

/// A number of flows that can be recorded.
pub type FlowCount = Within<u32, 1, 1024>;

impl Value for FlowSet {
    fn expected() -> String {
        "a number of flows from 1 to 1024, or a list of flow numbers".to_owned()
    }

    fn types() -> &'static [&'static str] {
        &["integer", "array"]
    }

    fn read(scalar: &Scalar) -> Result<Self, Refusal> {
        let Scalar::List(items) = scalar else { return FlowCount::read(scalar).map(Self::First) };
        let number = |item: &Scalar| match item {
            Scalar::Integer(number) => u64::try_from(*number).map_err(|_| Refusal::Type),
            _ => Err(Refusal::Type),
        };
        let mut flows = items.iter().map(number).collect::<Result<Vec<_>, _>>()?;
        flows.sort_unstable();
        flows.dedup();
        if !(1..=1024).contains(&flows.len()) {
            return Err(format!("lists {} flows; expected {}", flows.len(), Self::expected()).into());
        }
        Ok(Self::Listed(flows))
    }

    fn write(&self) -> Scalar {
        match self {
            Self::First(count) => count.write(),
            Self::Listed(flows) => {
                Scalar::List(flows.iter().map(|flow| Scalar::Integer(i128::from(*flow))).collect())
            }
        }
    }
}

as_value!(FlowSet);

#[cfg(test)]
mod tests {
    use super::*;

    fn read(scalar: &Scalar) -> Result<FlowSet, String> {
        FlowSet::read(scalar).map_err(|refusal| match refusal {
            Refusal::Type => "type".to_owned(),
            Refusal::Because(why) => why,
        })
    }

    #[test]
    fn flows_are_a_bounded_number_or_a_bounded_list() {
        let list = |numbers: &[i128]| Scalar::List(numbers.iter().copied().map(Scalar::Integer).collect());
        assert_eq!(read(&list(&[9, 1 << 40, 9])), Ok(FlowSet::Listed(vec![9, 1 << 40])));
        assert_eq!(read(&Scalar::Integer(8)).map(|set| set.write()), Ok(Scalar::Integer(8)));
        for wrong in [Scalar::Integer(0), Scalar::Integer(1025), list(&[])] {
            assert!(read(&wrong).unwrap_err().contains("1 to 1024"), "{wrong:?}");
        }
        let many = list(&(0..1025).collect::<Vec<_>>());
        assert!(read(&many).unwrap_err().starts_with("lists 1025 flows; expected "));
        assert_eq!(read(&list(&[-1])), Err("type".to_owned()));
    }
}
