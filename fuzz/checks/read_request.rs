//! Whoever may open a control socket may say anything there.

use wiremend_dataplane::cable::CableRequest;
use wiremend_dataplane::relay::{Care, Classes, Request};

/// Reads a line as what may be asked of a relay and of a cable: it means the same when it is said again, and can be tried.
pub(crate) fn check(bytes: &[u8]) {
    let line = String::from_utf8_lossy(bytes);
    if let Ok(request) = serde_json::from_str::<Request>(&line) {
        let again = serde_json::to_string(&request).expect("a request is plain values");
        assert_eq!(serde_json::from_str::<Request>(&again).expect("an own request is well formed"), request);
        if let Request::Set { classes: Some(rules), .. } = request
            && let Ok(classes) = Classes::new(rules.clone(), Care::Ordered)
        {
            assert_eq!(classes.rules(), rules);
        }
    }
    if let Ok(request) = serde_json::from_str::<CableRequest>(&line) {
        let again = serde_json::to_string(&request).expect("a request is plain values");
        assert_eq!(
            serde_json::from_str::<CableRequest>(&again).expect("an own request is well formed"),
            request
        );
        if let CableRequest::Impair { forth, back } = request {
            for ailment in [forth, back].into_iter().flatten() {
                // Refused or not, it is answered.
                let _ = ailment.impairments(1);
            }
        }
    }
}
