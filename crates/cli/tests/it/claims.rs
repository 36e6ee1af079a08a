//! The ledger of claims.

use crate::program::wiremend;

#[test]
fn livelock_and_waste_are_reproduced() {
    let ledger = wiremend(&["repro", "V1", "v2", "--quick", "--json"]).json();
    let claims = ledger["claims"].as_array().unwrap();
    assert_eq!(claims.len(), 2);
    for (claim, id) in claims.iter().zip(["V1", "V2"]) {
        let mut fields: Vec<_> = claim.as_object().unwrap().keys().map(String::as_str).collect();
        fields.sort_unstable();
        assert_eq!(fields, ["id", "measured", "paper", "verdict", "why"]);
        assert_eq!(
            (claim["id"].as_str(), claim["verdict"].as_str()),
            (Some(id), Some("reproduced")),
            "{claim}"
        );
    }
    let measured = claims[0]["measured"].as_str().unwrap();
    for operation in ["SEND", "WRITE", "READ"] {
        assert!(measured.contains(&format!("go-back-0 {operation}: goodput 0 b/s, link 99")), "{measured}");
    }
}

#[test]
fn claims_are_listed_and_told() {
    let text = wiremend::<&str>(&["repro"]).ok();
    assert!(text.contains("V1") && text.contains("Guo et al."), "{text}");
    let text = wiremend(&["repro", "V2", "--quick"]).ok();
    for part in ["V2 what one drop costs go-back-N: reproduced", "paper", "method", "measured", "why"] {
        assert!(text.contains(part), "{text}");
    }
}
