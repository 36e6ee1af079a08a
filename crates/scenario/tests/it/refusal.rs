//! Assertions about refused scenarios.

use wiremend_scenario::load;

/// Returns the error of a scenario.
pub(crate) fn refusal(text: &str) -> String {
    match load("s.toml", text, &[]) {
        Ok(_) => panic!("understood:\n{text}"),
        Err(error) => error.to_string(),
    }
}

/// Each line of a table is a case: the cells of a scenario, and its error. `\n` in a cell is a line break.
pub(crate) fn assert_refused<const N: usize>(scenario: impl Fn([&str; N]) -> String, table: &str) {
    assert_messages(table, |cells| refusal(&scenario(cells)));
}

/// As [`assert_refused`], for any message.
pub(crate) fn assert_messages<const N: usize>(table: &str, message_of: impl Fn([&str; N]) -> String) {
    for line in table.trim().lines() {
        let cells: Vec<_> = line.split('|').map(|cell| cell.trim().replace("\\n", "\n")).collect();
        let (message, cells) = cells.split_last().expect("a line has cells");
        let cells: Vec<_> = cells.iter().map(String::as_str).collect();
        assert_eq!(message_of(cells.try_into().expect(line)), *message, "{line}");
    }
}
