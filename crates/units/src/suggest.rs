//! What somebody may have meant.

/// More names than this are not listed: a network has a hundred thousand links, and a message has one line.
const NAMES_MAX: usize = 24;

/// `unknown field `recovry`; did you mean `recovery`? allowed: recovery, …`, with the question only where one of the
/// names is near.
pub fn or_nearest(what: &str, wanted: &str, known: &[&str]) -> String {
    let shown = shorten(wanted);
    let names = match known.get(..NAMES_MAX) {
        Some(first) if known.len() > NAMES_MAX => {
            format!("{} and {} more", first.join(", "), known.len() - NAMES_MAX)
        }
        _ => known.join(", "),
    };
    match nearest(wanted, known) {
        Some(near) => format!("unknown {what} `{shown}`; did you mean `{near}`? allowed: {names}"),
        None if known.is_empty() => format!("unknown {what} `{shown}`; none is allowed here"),
        None => format!("unknown {what} `{shown}`; allowed: {names}"),
    }
}

/// The known name that is nearest to `wanted`, if it is near: at most a third of its letters away.
pub fn nearest<'a>(wanted: &str, known: &[&'a str]) -> Option<&'a str> {
    const LONGEST: usize = 64;
    if wanted.len() > LONGEST {
        return None;
    }
    let wanted = wanted.to_lowercase();
    let by_distance = known.iter().map(|name| (distance(&wanted, &name.to_lowercase()), *name));
    let (edits, name) = by_distance.min_by_key(|(edits, _)| *edits)?;
    (edits <= (name.chars().count() / 3).max(1)).then_some(name)
}

/// Letters to insert, delete, replace or swap with a neighbour: the restricted edit distance of Damerau (1964).
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

/// Enough of a name to know it by.
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
    fn a_long_list_of_names_is_cut() {
        let links: Vec<String> = (0..1000).map(|number| format!("h{number}-tor")).collect();
        let message = or_nearest("link", "h7-tr", &links.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(
            message.starts_with("unknown link `h7-tr`; did you mean `h7-tor`? allowed: h0-tor, "),
            "{message}"
        );
        assert!(message.ends_with(", h23-tor and 976 more"), "{message}");
    }

    #[test]
    fn slips_are_recognised_and_strangers_are_not() {
        let known = ["recovery", "retry", "rate", "qp"];
        assert_eq!(nearest("recovry", &known), Some("recovery"));
        assert_eq!(nearest("erty", &["retry"]), None);
        assert_eq!(nearest("rtery", &["retry"]), Some("retry"));
        assert_eq!(nearest("Rate", &known), Some("rate"));
        assert_eq!(nearest("congestion", &known), None);
        assert_eq!(nearest("pq", &known), Some("qp"));
    }
}
