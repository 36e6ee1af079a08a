//! Other spellings of known names, and suggestions for misspelled ones.

/// Names from papers and other simulators in folded form, and our names for them.
const OTHER_NAMES: [(&str, &str); 19] = [
    ("irn", "selective-repeat"),
    ("sr", "selective-repeat"),
    ("gbn", "go-back-n"),
    ("gb0", "go-back-0"),
    ("rack", "rack-tlp"),
    ("dcqcn", "dcqcn-paper"),
    ("newreno", "reno"),
    ("roce", "rdma"),
    ("rocev2", "rdma"),
    ("lg", "linkguardian"),
    ("lgnb", "linkguardian-nb"),
    ("paper", "prototype"),
    ("letflow", "flowlet"),
    ("packetspray", "spray"),
    ("spineleaf", "leaf-spine"),
    ("p2p", "point-to-point"),
    ("hadoop", "fb-hadoop"),
    ("facebookhadoop", "fb-hadoop"),
    ("vl2", "datamining-vl2"),
];

/// Returns the known name that `wanted` spells. Case, `-`, `_` and spaces do not matter, and names from papers are
/// accepted. Returns `None` if no name matches, or more than one.
pub fn canonical_name<'a>(wanted: &str, known: &[&'a str]) -> Option<&'a str> {
    if let Some(exact) = known.iter().find(|name| **name == wanted) {
        return Some(exact);
    }
    let folded = fold(wanted);
    let spelled = |wanted: &str| {
        let mut alike = known.iter().filter(|name| fold(name) == wanted);
        alike.next().filter(|_| alike.next().is_none()).copied()
    };
    let other = || OTHER_NAMES.iter().find(|(other, _)| *other == folded).map(|(_, ours)| *ours);
    spelled(&folded).or_else(|| known.iter().find(|name| Some(**name) == other()).copied())
}

/// Removes separators and case from a name.
fn fold(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '-' | '_' | ' ')).flat_map(char::to_lowercase).collect()
}

/// Most names in a message: a network may have a hundred thousand links.
const NAMES_MAX: usize = 24;

/// Error message ``unknown field `recovry`; did you mean `recovery`? allowed: recovery, …``. The question is
/// left out if no name is similar.
pub fn unknown_name(what: &str, wanted: &str, known: &[&str]) -> String {
    let shown = shorten(wanted);
    let listed = listed(&known[..known.len().min(NAMES_MAX)]);
    let names = match known.len().checked_sub(NAMES_MAX) {
        Some(more @ 1..) => format!("{listed} and {more} more"),
        _ => listed,
    };
    match nearest_name(wanted, known) {
        Some(near) => format!("unknown {what} `{shown}`; did you mean `{near}`? allowed: {names}"),
        None if known.is_empty() => format!("unknown {what} `{shown}`; none is allowed here"),
        None => format!("unknown {what} `{shown}`; allowed: {names}"),
    }
}

/// Names in one line. A name with a comma is quoted, as it would look like two.
fn listed(names: &[&str]) -> String {
    let quoted = |name: &&str| if name.contains(',') { format!("\"{name}\"") } else { (*name).to_owned() };
    names.iter().map(quoted).collect::<Vec<_>>().join(", ")
}

/// The known name that is most similar to `wanted`, if at most a third of its letters differ.
pub fn nearest_name<'a>(wanted: &str, known: &[&'a str]) -> Option<&'a str> {
    let (edits, name) = by_distance(wanted, known).into_iter().next()?;
    (edits <= (name.chars().count() / 3).max(1)).then_some(name)
}

/// Returns the `count` known names that are most similar to `wanted`, the most similar first.
pub fn nearest_names<'a>(wanted: &str, known: &[&'a str], count: usize) -> Vec<&'a str> {
    by_distance(wanted, known).into_iter().take(count).map(|(_, name)| name).collect()
}

/// Returns the known names with their distance from `wanted`, sorted; none for a text that is too long for a name.
fn by_distance<'a>(wanted: &str, known: &[&'a str]) -> Vec<(usize, &'a str)> {
    const LONGEST: usize = 64;
    if wanted.len() > LONGEST {
        return Vec::new();
    }
    let wanted = wanted.to_lowercase();
    let mut names: Vec<_> =
        known.iter().map(|name| (distance(&wanted, &name.to_lowercase()), *name)).collect();
    names.sort_by_key(|(edits, _)| *edits);
    names
}

/// Number of letters to insert, delete, replace or swap: the restricted edit distance of Damerau (1964).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    rows[0] = (0..=b.len()).collect();
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}

/// The first 60 characters of a name.
fn shorten(text: &str) -> String {
    const SHOWN: usize = 60;
    if text.chars().count() <= SHOWN {
        text.to_owned()
    } else {
        text.chars().take(SHOWN).chain(['…']).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_of_names_is_shortened() {
        let links: Vec<String> = (0..1000).map(|number| format!("h{number}-tor")).collect();
        let message = unknown_name("link", "h7-tr", &links.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(
            message.starts_with("unknown link `h7-tr`; did you mean `h7-tor`? allowed: h0-tor, "),
            "{message}"
        );
        assert!(message.ends_with(", h23-tor and 976 more"), "{message}");
    }

    #[test]
    fn a_name_with_a_comma_is_quoted() {
        let message = unknown_name("variant", "go-back", &["go-back-n", "go-back-n, mended"]);
        assert!(message.ends_with("allowed: go-back-n, \"go-back-n, mended\""), "{message}");
    }

    #[test]
    fn similar_names_are_suggested_and_others_are_not() {
        let known = ["recovery", "retry", "rate", "qp"];
        assert_eq!(nearest_name("recovry", &known), Some("recovery"));
        assert_eq!(nearest_name("erty", &["retry"]), None);
        assert_eq!(nearest_name("rtery", &["retry"]), Some("retry"));
        assert_eq!(nearest_name("Rate", &known), Some("rate"));
        assert_eq!(nearest_name("congestion", &known), None);
        assert_eq!(nearest_name("pq", &known), Some("qp"));
    }
    #[test]
    fn case_and_separators_do_not_count() {
        let known = ["go-back-n", "selective-repeat", "fat-tree", "dcqcn-paper"];
        for [spelled, meant] in [
            ["go_back_n", "go-back-n"],
            ["GoBackN", "go-back-n"],
            ["gbn", "go-back-n"],
            ["IRN", "selective-repeat"],
            ["fattree", "fat-tree"],
            ["Fat Tree", "fat-tree"],
            ["DCQCN", "dcqcn-paper"],
        ] {
            assert_eq!(canonical_name(spelled, &known), Some(meant), "{spelled}");
        }
        assert_eq!(canonical_name("go-back-m", &known), None);
        assert_eq!(canonical_name("lg", &known), None, "its name is not known here");
        assert_eq!(canonical_name("AB", &["a-b", "a_b"]), None, "two names are spelled so");
        assert_eq!(canonical_name("a-b", &["a-b", "a_b"]), Some("a-b"));
    }
}
