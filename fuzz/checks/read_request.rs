//! A client of a control socket may send anything.

use wiremend_dataplane::relay::{Classifier, ProtectionMode, Request};
use wiremend_dataplane::wire::WireRequest;

/// Parses a line as a request to a relay and to a wire; it is equal after writing and can be applied.
pub(crate) fn check(bytes: &[u8]) {
    let line = String::from_utf8_lossy(bytes);
    if let Ok(request) = serde_json::from_str::<Request>(&line) {
        let again = serde_json::to_string(&request).expect("a request is plain values");
        assert_eq!(serde_json::from_str::<Request>(&again).expect("an own request is well formed"), request);
        if let Request::Set { classes: Some(rules), .. } = request
            && let Ok(classes) = Classifier::new(rules.clone(), ProtectionMode::Ordered)
        {
            assert_eq!(classes.rules(), rules);
        }
    }
    if let Ok(request) = serde_json::from_str::<WireRequest>(&line) {
        let again = serde_json::to_string(&request).expect("a request is plain values");
        assert_eq!(
            serde_json::from_str::<WireRequest>(&again).expect("an own request is well formed"),
            request
        );
        if let WireRequest::Impair { a_to_b, b_to_a } = request {
            for impairment in [a_to_b, b_to_a].into_iter().flatten() {
                // Valid or not, it is answered.
                let _ = impairment.build(1);
            }
        }
    }
}
