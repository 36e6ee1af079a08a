//! Which frames are protected, and how: by the priority of their VLAN tag or their DSCP.
//!
//! ```text
//! pcp=3:non-blocking    dscp=24-31:ordered    dscp=0:off
//! └──── which ────┘ └─ how ─┘                              the first rule that fits a frame decides
//! ```

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How much care frames are carried with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Care {
    /// What is lost is sent again, and what follows waits for it.
    #[default]
    Ordered,
    /// What is lost is sent again, and nothing waits.
    NonBlocking,
    /// What is lost stays lost.
    Off,
}

/// Frames of one kind, and how they are carried.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Rule {
    mark: Mark,
    values: RangeInclusive<u8>,
    care: Care,
}

/// What a frame is known by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mark {
    /// The priority of the outermost VLAN tag (IEEE 802.1Q).
    Pcp,
    /// The differentiated services code point of IPv4 or IPv6 (RFC 2474), behind tags if there are any.
    Dscp,
}

/// Rules, and how fast they are found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Classes {
    rules: Vec<Rule>,
    /// Of what no rule fits.
    other: Care,
    /// The rule for each value, or none.
    by_pcp: [u8; 8],
    by_dscp: [u8; 64],
}

/// Rules in all. More values than that cannot be told apart.
const RULES_MAX: usize = 72;
const NO_RULE: u8 = u8::MAX;
const _: () = assert!(RULES_MAX < NO_RULE as usize);

/// Why a rule, or a list of them, means nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ClassError {
    /// It is not built as a rule is.
    Shape(String),
    /// Frames are not known by that.
    Mark(String),
    /// A value that the field cannot have.
    Value(String, &'static str, u8),
    /// No way to carry frames.
    Care(String),
    /// A value that an earlier rule has.
    Twice {
        /// The field.
        mark: &'static str,
        /// Its value.
        value: u8,
    },
}

impl fmt::Display for ClassError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shape(text) => write!(
                f,
                "`{text}` is no class; it says which frames and how, as in pcp=3:non-blocking or dscp=24-31:ordered"
            ),
            Self::Mark(text) => write!(f, "a class is known by pcp=0..7 or dscp=0..63, not by `{text}`"),
            Self::Value(text, mark, most) => write!(
                f,
                "`{text}` is no value of {mark}; it is a number from 0 to {most}, or two with a dash between them"
            ),
            Self::Care(text) => write!(f, "a class is `ordered`, `non-blocking` or `off`, not `{text}`"),
            Self::Twice { mark, value } => {
                write!(f, "{mark}={value} is in two classes; one of them decides, so name it there only")
            }
        }
    }
}

impl std::error::Error for ClassError {}

impl Care {
    /// As it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ordered => "ordered",
            Self::NonBlocking => "non-blocking",
            Self::Off => "off",
        }
    }
}

impl FromStr for Care {
    type Err = ClassError;

    fn from_str(text: &str) -> Result<Self, ClassError> {
        [Self::Ordered, Self::NonBlocking, Self::Off]
            .into_iter()
            .find(|care| care.name() == text)
            .ok_or_else(|| ClassError::Care(text.to_owned()))
    }
}

impl Rule {
    /// Which frames, without how they are carried.
    pub fn which(&self) -> String {
        let (first, last) = (self.values.start(), self.values.end());
        let mark = self.mark.name();
        if first == last { format!("{mark}={first}") } else { format!("{mark}={first}-{last}") }
    }

    /// How they are carried.
    pub fn care(&self) -> Care {
        self.care
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.which(), self.care.name())
    }
}

impl FromStr for Rule {
    type Err = ClassError;

    fn from_str(text: &str) -> Result<Self, ClassError> {
        let shape = || ClassError::Shape(text.to_owned());
        let (which, care) = text.split_once(':').ok_or_else(shape)?;
        let (mark, values) = which.split_once('=').ok_or_else(shape)?;
        let mark = match mark {
            "pcp" => Mark::Pcp,
            "dscp" => Mark::Dscp,
            other => return Err(ClassError::Mark(other.to_owned())),
        };
        let most = mark.most();
        let refused = || ClassError::Value(values.to_owned(), mark.name(), most);
        let value = |digits: &str| digits.parse().ok().filter(|value| *value <= most).ok_or_else(refused);
        let (first, last) = match values.split_once('-') {
            Some((first, last)) => (value(first)?, value(last)?),
            None => (value(values)?, value(values)?),
        };
        if first > last {
            return Err(refused());
        }
        Ok(Self { mark, values: first..=last, care: care.parse()? })
    }
}

impl TryFrom<String> for Rule {
    type Error = ClassError;

    fn try_from(text: String) -> Result<Self, ClassError> {
        text.parse()
    }
}

impl From<Rule> for String {
    fn from(rule: Rule) -> Self {
        rule.to_string()
    }
}

impl Mark {
    const fn name(self) -> &'static str {
        match self {
            Self::Pcp => "pcp",
            Self::Dscp => "dscp",
        }
    }

    const fn most(self) -> u8 {
        match self {
            Self::Pcp => 7,
            Self::Dscp => 63,
        }
    }
}

impl Default for Classes {
    fn default() -> Self {
        Self { rules: Vec::new(), other: Care::Ordered, by_pcp: [NO_RULE; 8], by_dscp: [NO_RULE; 64] }
    }
}

impl Classes {
    /// These rules; what none of them fits is carried with `other`.
    pub fn new(rules: Vec<Rule>, other: Care) -> Result<Self, ClassError> {
        let mut classes = Self { other, ..Self::default() };
        // As no value may be in two of them, there are never more than there are values.
        for (at, rule) in rules.iter().enumerate() {
            for value in rule.values.clone() {
                let place = match rule.mark {
                    Mark::Pcp => &mut classes.by_pcp[usize::from(value)],
                    Mark::Dscp => &mut classes.by_dscp[usize::from(value)],
                };
                if *place != NO_RULE {
                    return Err(ClassError::Twice { mark: rule.mark.name(), value });
                }
                *place = at as u8;
            }
        }
        classes.rules = rules;
        Ok(classes)
    }

    /// The rules, in their order.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// How frames are carried that no rule fits.
    pub fn other(&self) -> Care {
        self.other
    }

    /// How many classes: the rules, and all other frames.
    pub fn count(&self) -> usize {
        self.rules.len() + 1
    }

    /// Which frames a class is, and how they are carried.
    pub fn class(&self, class: usize) -> (String, Care) {
        self.rules
            .get(class)
            .map_or_else(|| ("other".to_owned(), self.other), |rule| (rule.which(), rule.care))
    }

    /// How frames of a class are carried.
    #[inline]
    pub fn care(&self, class: usize) -> Care {
        self.rules.get(class).map_or(self.other, |rule| rule.care)
    }

    /// The class of a frame without its FCS. `tag` was its outermost one, if the interface took it out.
    #[inline]
    pub fn of(&self, frame: &[u8], tag: Option<[u8; 4]>) -> usize {
        if self.rules.is_empty() { 0 } else { self.find(frame, tag) }
    }

    fn find(&self, frame: &[u8], tag: Option<[u8; 4]>) -> usize {
        let (pcp, dscp) = marks(frame, tag);
        let by_pcp = pcp.map_or(NO_RULE, |pcp| self.by_pcp[usize::from(pcp)]);
        let by_dscp = dscp.map_or(NO_RULE, |dscp| self.by_dscp[usize::from(dscp)]);
        usize::from(by_pcp.min(by_dscp)).min(self.rules.len())
    }
}

const TAGS: [[u8; 2]; 2] = [[0x81, 0x00], [0x88, 0xA8]];
/// Tags behind each other that are looked through (IEEE 802.1ad has two).
const TAGS_MAX: usize = 2;

/// The priority in the outermost tag, and the DSCP.
fn marks(frame: &[u8], tag: Option<[u8; 4]>) -> (Option<u8>, Option<u8>) {
    let mut pcp = tag.map(|tag| tag[2] >> 5);
    let mut rest = frame.get(12..).unwrap_or_default();
    for _ in usize::from(tag.is_some())..TAGS_MAX {
        let [a, b, control, _, behind @ ..] = rest else { break };
        if !TAGS.contains(&[*a, *b]) {
            break;
        }
        pcp = pcp.or(Some(control >> 5));
        rest = behind;
    }
    let dscp = match rest {
        [0x08, 0x00, 0x40..=0x4F, service, ..] => Some(service >> 2),
        // Version, then the eight bits of the traffic class, of which the last two are not the DSCP's.
        [0x86, 0xDD, high @ 0x60..=0x6F, low, ..] => Some((high & 0x0F) << 2 | low >> 6),
        _ => None,
    };
    (pcp, dscp)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn classes(rules: &[&str]) -> Classes {
        Classes::new(rules.iter().map(|rule| rule.parse().unwrap()).collect(), Care::Ordered).unwrap()
    }

    fn frame(behind: &[u8]) -> Vec<u8> {
        [&[2; 12][..], behind, &[0; 40]].concat()
    }

    #[test]
    fn frames_are_known_by_tag_and_dscp() {
        let classes = classes(&["pcp=3:non-blocking", "dscp=46:ordered", "dscp=0-7:off"]);
        let of = |behind: &[u8], tag| classes.class(classes.of(&frame(behind), tag)).0;
        assert_eq!(of(&[0x81, 0, 0x60, 5, 0x08, 0x00, 0x45, 46 << 2], None), "pcp=3", "the first that fits");
        assert_eq!(of(&[0x08, 0x00, 0x45, 46 << 2], Some([0x81, 0, 0x60, 5])), "pcp=3");
        assert_eq!(of(&[0x81, 0, 0x20, 5, 0x08, 0x00, 0x45, 46 << 2 | 3], None), "dscp=46");
        assert_eq!(of(&[0x88, 0xA8, 0x20, 5, 0x81, 0, 0x60, 5, 0x86, 0xDD, 0x6B, 0x80], None), "dscp=46");
        assert_eq!(of(&[0x86, 0xDD, 0x60, 0xC0], None), "dscp=0-7");
        assert_eq!(of(&[0x08, 0x00, 0x45, 8 << 2], None), "other");
        assert_eq!(of(&[0x08, 0x06, 0, 1], None), "other", "ARP has neither");
    }

    #[test]
    fn what_means_nothing_is_refused_with_what_would() {
        let refusal = |rule: &str| rule.parse::<Rule>().unwrap_err().to_string();
        assert!(refusal("voice").contains("as in pcp=3:non-blocking"));
        assert!(refusal("vlan=3:off").contains("pcp=0..7 or dscp=0..63, not by `vlan`"));
        assert!(refusal("pcp=8:off").contains("from 0 to 7"));
        assert!(refusal("dscp=9-5:off").contains("from 0 to 63"));
        assert!(refusal("pcp=3:lossless").contains("`ordered`, `non-blocking` or `off`, not `lossless`"));
        let rules = ["dscp=0-9:off", "dscp=8:ordered"].map(|rule| rule.parse().unwrap()).to_vec();
        assert!(Classes::new(rules, Care::Off).unwrap_err().to_string().contains("dscp=8 is in two classes"));
    }

    proptest! {
        #[test]
        fn any_bytes_have_a_class(bytes in prop::collection::vec(any::<u8>(), 0..40), tag in any::<Option<[u8; 4]>>()) {
            let classes = classes(&["pcp=0-7:off", "dscp=0-63:non-blocking"]);
            prop_assert!(classes.of(&bytes, tag) < classes.count());
        }

        #[test]
        fn a_rule_is_read_as_it_is_written(text in "(pcp=[0-7]|dscp=[1-5][0-9]|dscp=[0-9]-[1-5][0-9]):(ordered|non-blocking|off)") {
            prop_assert_eq!(text.parse::<Rule>().unwrap().to_string(), text);
        }
    }
}
