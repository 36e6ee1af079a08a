//! What cannot be with trimming, balancing and collectives, told with its place and the remedy.

use wiremend_scenario::load;

/// Line 6 begins what a test adds.
const GOOD: &str =
    "title = \"t\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\n";
const FLOWS: &str = "[[workload]]\nkind = \"flows\"\nbytes = \"1MB\"\npattern = \"permutation\"\n";

#[test]
fn trimming_that_cannot_be_is_refused() {
    let trim = |fields: &str| format!("{GOOD}{FLOWS}[switch.trim]\n{fields}\n");
    for (text, message) in [
        (
            trim("threshold = \"200kB\"").replace("leaves", "buffer = \"100kB\"\nleaves"),
            "s.toml:12:1: a `threshold` of 200kB is above the `topology.buffer` of 100kB, so that packets would be dropped before \
             they are trimmed; give at most that",
        ),
        (
            trim("threshold = \"0B\""),
            "s.toml:12:13: must be above zero; expected a size such as \"64KiB\" or \"1MB\"",
        ),
        (
            trim("weight = 0"),
            "s.toml:12:10: a weight of 0 lets no header-only packet pass, or nothing else; expected a number from 0.01 to \
             1000, \"fan-in\" or \"ratio\"",
        ),
        (
            trim("weight = -1.5"),
            "s.toml:12:10: a weight of -1.5 lets no header-only packet pass, or nothing else; expected a number from 0.01 to \
             1000, \"fan-in\" or \"ratio\"",
        ),
        (
            trim("weight = \"fanin\""),
            "s.toml:12:10: found the text `fanin`; expected a number from 0.01 to 1000, \"fan-in\" or \"ratio\"",
        ),
        (trim("fan_in = 0"), "s.toml:12:10: 0 is out of range; expected a whole number from 1 to 65535"),
        (
            trim("headers = \"0B\""),
            "s.toml:12:11: must be above zero; expected a size such as \"64KiB\" or \"1MB\"",
        ),
        (
            trim("class = 0"),
            "s.toml:12:9: class 0 is that of a workload, and header-only packets have a class of their own; choose another",
        ),
        (
            trim("class = 4\n[[switch.class]]\nnumber = 4"),
            "s.toml:12:9: class 4 is in [[switch.class]], and header-only packets have a class of their own; choose another",
        ),
        (
            trim("[switch.lossless]\nclasses = [0]"),
            "s.toml:11:1: a lossless switch stops its neighbours before anything is trimmed; leave out [switch.trim], or \
             [switch.lossless]",
        ),
    ] {
        assert_eq!(refusal(&text), message);
    }
}

#[test]
fn weights_of_the_control_class_read_back_as_they_were_written() {
    for (weight, same) in [
        ("1.5", "1.5"),
        ("4", "4"),
        ("0.01", "0.01"),
        ("\"fan-in\"", "\"fan-in\""),
        ("\"ratio\"", "\"ratio\""),
    ] {
        let text = format!("{GOOD}{FLOWS}[switch.trim]\nweight = {weight}\n");
        let file = load("s.toml", &text, &[]).expect("it is right");
        let written = toml::to_string(&file.scenario.switch).expect("it can be written");
        assert!(written.contains(&format!("weight = {same}\n")), "{written}");
    }
}

fn refusal(text: &str) -> String {
    match load("s.toml", text, &[]) {
        Ok(_) => panic!("understood:\n{text}"),
        Err(error) => error.to_string(),
    }
}
