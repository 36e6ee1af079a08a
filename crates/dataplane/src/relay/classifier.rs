//! Classes of frames, by VLAN priority or DSCP, and the protection mode of each.
//!
//! ```text
//! pcp=3:non-blocking    dscp=24-31:ordered    dscp=0:off
//! └match┘└── mode ──┘                                      the first rule that matches a frame applies
//! ```

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How a relay protects frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProtectionMode {
    /// Lost frames are retransmitted, and later frames wait for them.
    #[default]
    Ordered,
    /// Lost frames are retransmitted, and later frames do not wait.
    NonBlocking,
    /// Lost frames are not retransmitted.
    Off,
}

/// A class of frames and its protection mode.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ClassRule {
    field: MatchField,
    values: RangeInclusive<u8>,
    protection: ProtectionMode,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum MatchField {
    /// The priority of the outermost VLAN tag (IEEE 802.1Q).
    Pcp,
    /// The differentiated services code point of IPv4 or IPv6 (RFC 2474), after VLAN tags if there are any.
    Dscp,
}

/// Finds the class of a frame by table lookup.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Classifier {
    rules: Vec<ClassRule>,
    other: ProtectionMode,
    /// Index of the rule for each value, or [`NO_RULE`].
    by_pcp: [u8; 8],
    by_dscp: [u8; 64],
}

/// Maximum number of rules: one per value of either field.
const RULES_MAX: usize = 72;
const NO_RULE: u8 = u8::MAX;
const _: () = assert!(RULES_MAX < NO_RULE as usize);

/// Why a rule or a list of rules is invalid.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ClassError {
    /// Not of the form `MATCH:MODE`.
    Syntax(String),
    /// Unknown header field.
    Field(String),
    /// A value out of the range of the field.
    Value(String, &'static str, u8),
    /// Unknown protection mode.
    Mode(String),
    /// A value that an earlier rule matches.
    Duplicate {
        /// The field.
        field: &'static str,
        /// Its value.
        value: u8,
    },
}

impl fmt::Display for ClassError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax(text) => write!(
                f,
                "`{text}` is not a class; write frames and mode, as in pcp=3:non-blocking or dscp=24-31:ordered"
            ),
            Self::Field(text) => {
                write!(f, "a class matches pcp=0..7 or dscp=0..63, not `{text}`")
            }
            Self::Value(text, field, max) => write!(
                f,
                "`{text}` is not a value of {field}; write a number from 0 to {max}, or a range such as 0-{max}"
            ),
            Self::Mode(text) => {
                write!(f, "the mode of a class is `ordered`, `non-blocking` or `off`, not `{text}`")
            }
            Self::Duplicate { field, value } => {
                write!(f, "{field}={value} is in two classes; remove it from one of them")
            }
        }
    }
}

impl std::error::Error for ClassError {}

impl ProtectionMode {
    /// Name of the mode in settings and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ordered => "ordered",
            Self::NonBlocking => "non-blocking",
            Self::Off => "off",
        }
    }
}

impl FromStr for ProtectionMode {
    type Err = ClassError;

    fn from_str(text: &str) -> Result<Self, ClassError> {
        [Self::Ordered, Self::NonBlocking, Self::Off]
            .into_iter()
            .find(|protection| protection.name() == text)
            .ok_or_else(|| ClassError::Mode(text.to_owned()))
    }
}

impl ClassRule {
    /// The matched frames, without the mode.
    pub fn match_text(&self) -> String {
        let (first, last) = (self.values.start(), self.values.end());
        let field = self.field.name();
        if first == last { format!("{field}={first}") } else { format!("{field}={first}-{last}") }
    }

    /// The protection mode.
    pub fn protection(&self) -> ProtectionMode {
        self.protection
    }
}

impl fmt::Display for ClassRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.match_text(), self.protection.name())
    }
}

impl FromStr for ClassRule {
    type Err = ClassError;

    fn from_str(text: &str) -> Result<Self, ClassError> {
        let syntax = || ClassError::Syntax(text.to_owned());
        let (match_text, protection) = text.split_once(':').ok_or_else(syntax)?;
        let (field, values) = match_text.split_once('=').ok_or_else(syntax)?;
        let field = match field {
            "pcp" => MatchField::Pcp,
            "dscp" => MatchField::Dscp,
            other => return Err(ClassError::Field(other.to_owned())),
        };
        let max = field.max();
        let refused = || ClassError::Value(values.to_owned(), field.name(), max);
        let value = |digits: &str| digits.parse().ok().filter(|value| *value <= max).ok_or_else(refused);
        let (first, last) = match values.split_once('-') {
            Some((first, last)) => (value(first)?, value(last)?),
            None => (value(values)?, value(values)?),
        };
        if first > last {
            return Err(refused());
        }
        Ok(Self { field, values: first..=last, protection: protection.parse()? })
    }
}

impl TryFrom<String> for ClassRule {
    type Error = ClassError;

    fn try_from(text: String) -> Result<Self, ClassError> {
        text.parse()
    }
}

impl From<ClassRule> for String {
    fn from(rule: ClassRule) -> Self {
        rule.to_string()
    }
}

impl MatchField {
    const fn name(self) -> &'static str {
        match self {
            Self::Pcp => "pcp",
            Self::Dscp => "dscp",
        }
    }

    const fn max(self) -> u8 {
        match self {
            Self::Pcp => 7,
            Self::Dscp => 63,
        }
    }
}

impl Default for Classifier {
    fn default() -> Self {
        Self {
            rules: Vec::new(),
            other: ProtectionMode::Ordered,
            by_pcp: [NO_RULE; 8],
            by_dscp: [NO_RULE; 64],
        }
    }
}

impl Classifier {
    /// Creates a classifier. Frames that match no rule get the mode `other`.
    pub fn new(rules: Vec<ClassRule>, other: ProtectionMode) -> Result<Self, ClassError> {
        let mut classes = Self { other, ..Self::default() };
        // No value is in two rules, so there are at most `RULES_MAX`.
        for (at, rule) in rules.iter().enumerate() {
            for value in rule.values.clone() {
                let place = match rule.field {
                    MatchField::Pcp => &mut classes.by_pcp[usize::from(value)],
                    MatchField::Dscp => &mut classes.by_dscp[usize::from(value)],
                };
                if *place != NO_RULE {
                    return Err(ClassError::Duplicate { field: rule.field.name(), value });
                }
                *place = at as u8;
            }
        }
        classes.rules = rules;
        Ok(classes)
    }

    /// The rules, in order.
    pub fn rules(&self) -> &[ClassRule] {
        &self.rules
    }

    /// The mode of frames that match no rule.
    pub fn other(&self) -> ProtectionMode {
        self.other
    }

    /// Number of classes: the rules, and one for all other frames.
    pub fn count(&self) -> usize {
        self.rules.len() + 1
    }

    /// The matched frames of a class, as text, and its mode.
    pub fn class(&self, class: usize) -> (String, ProtectionMode) {
        self.rules
            .get(class)
            .map_or_else(|| ("other".to_owned(), self.other), |rule| (rule.match_text(), rule.protection))
    }

    /// The mode of a class.
    #[inline]
    pub fn protection(&self, class: usize) -> ProtectionMode {
        self.rules.get(class).map_or(self.other, |rule| rule.protection)
    }
    /// Returns the class of a frame without FCS. `tag` is the VLAN tag that the interface has stripped.
    #[inline]
    pub fn classify(&self, frame: &[u8], tag: Option<[u8; 4]>) -> usize {
        if self.rules.is_empty() { 0 } else { self.find(frame, tag) }
    }

    fn find(&self, frame: &[u8], tag: Option<[u8; 4]>) -> usize {
        let (pcp, dscp) = match_values(frame, tag);
        let by_pcp = pcp.map_or(NO_RULE, |pcp| self.by_pcp[usize::from(pcp)]);
        let by_dscp = dscp.map_or(NO_RULE, |dscp| self.by_dscp[usize::from(dscp)]);
        usize::from(by_pcp.min(by_dscp)).min(self.rules.len())
    }
}

const TAGS: [[u8; 2]; 2] = [[0x81, 0x00], [0x88, 0xA8]];
/// Number of VLAN tags that are parsed (IEEE 802.1ad has two).
const TAGS_MAX: usize = 2;

fn match_values(frame: &[u8], tag: Option<[u8; 4]>) -> (Option<u8>, Option<u8>) {
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
        // Version, then the eight bits of the traffic class; its last two bits are ECN.
        [0x86, 0xDD, high @ 0x60..=0x6F, low, ..] => Some((high & 0x0F) << 2 | low >> 6),
        _ => None,
    };
    (pcp, dscp)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn classes(rules: &[&str]) -> Classifier {
        Classifier::new(rules.iter().map(|rule| rule.parse().unwrap()).collect(), ProtectionMode::Ordered)
            .unwrap()
    }

    fn frame(behind: &[u8]) -> Vec<u8> {
        [&[2; 12][..], behind, &[0; 40]].concat()
    }

    #[test]
    fn frames_are_classified_by_tag_and_dscp() {
        let classes = classes(&["pcp=3:non-blocking", "dscp=46:ordered", "dscp=0-7:off"]);
        let class = |behind: &[u8], tag| classes.class(classes.classify(&frame(behind), tag)).0;
        assert_eq!(
            class(&[0x81, 0, 0x60, 5, 0x08, 0x00, 0x45, 46 << 2], None),
            "pcp=3",
            "the first rule that matches"
        );
        assert_eq!(class(&[0x08, 0x00, 0x45, 46 << 2], Some([0x81, 0, 0x60, 5])), "pcp=3");
        assert_eq!(class(&[0x81, 0, 0x20, 5, 0x08, 0x00, 0x45, 46 << 2 | 3], None), "dscp=46");
        assert_eq!(class(&[0x88, 0xA8, 0x20, 5, 0x81, 0, 0x60, 5, 0x86, 0xDD, 0x6B, 0x80], None), "dscp=46");
        assert_eq!(class(&[0x86, 0xDD, 0x60, 0xC0], None), "dscp=0-7");
        assert_eq!(class(&[0x08, 0x00, 0x45, 8 << 2], None), "other");
        assert_eq!(class(&[0x08, 0x06, 0, 1], None), "other", "ARP has neither");
    }

    #[test]
    fn invalid_rules_are_rejected_with_a_remedy() {
        let refusal = |rule: &str| rule.parse::<ClassRule>().unwrap_err().to_string();
        assert!(refusal("voice").contains("as in pcp=3:non-blocking"));
        assert!(refusal("vlan=3:off").contains("pcp=0..7 or dscp=0..63, not `vlan`"));
        assert!(refusal("pcp=8:off").contains("from 0 to 7"));
        assert!(refusal("dscp=9-5:off").contains("from 0 to 63"));
        assert!(refusal("pcp=3:lossless").contains("`ordered`, `non-blocking` or `off`, not `lossless`"));
        let rules = ["dscp=0-9:off", "dscp=8:ordered"].map(|rule| rule.parse().unwrap()).to_vec();
        assert!(
            Classifier::new(rules, ProtectionMode::Off)
                .unwrap_err()
                .to_string()
                .contains("dscp=8 is in two classes")
        );
    }

    proptest! {
        #[test]
        fn any_bytes_have_a_class(bytes in prop::collection::vec(any::<u8>(), 0..40), tag in any::<Option<[u8; 4]>>()) {
            let classes = classes(&["pcp=0-7:off", "dscp=0-63:non-blocking"]);
            prop_assert!(classes.classify(&bytes, tag) < classes.count());
        }

        #[test]
        fn rules_survive_parsing_and_printing(text in "(pcp=[0-7]|dscp=[1-5][0-9]|dscp=[0-9]-[1-5][0-9]):(ordered|non-blocking|off)") {
            prop_assert_eq!(text.parse::<ClassRule>().unwrap().to_string(), text);
        }
    }
}
