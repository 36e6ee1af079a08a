//! The page of `wiremend capture explain --html`.

use wiremend_capture::{EventKind, Explanation, Remedy};
use wiremend_report::{Document, DocumentPart};

/// Most events of the table.
const EVENTS_MAX: usize = 1000;

pub(super) fn page(explanation: &Explanation, ladder: Option<String>, files: &str) -> String {
    let mut parts: Vec<DocumentPart> =
        explanation.to_string().lines().map(|line| DocumentPart::Text(line.trim().to_owned())).collect();
    if let Some(drawing) = ladder {
        parts.push(DocumentPart::Heading("The queue pair that lost most time".to_owned()));
        parts.push(DocumentPart::Drawing(drawing));
    }
    let stalls = explanation.events.iter().filter(|event| event.kind == EventKind::Timeout);
    let rows: Vec<Vec<String>> = stalls
        .take(EVENTS_MAX)
        .filter_map(|event| {
            let verdict = event.verdict.as_ref()?;
            let alternatives: Vec<&str> = verdict.alternatives.iter().map(|cause| cause.name()).collect();
            let frames: Vec<String> = verdict.evidence.iter().map(|shown| shown.frame.to_string()).collect();
            Some(vec![
                format!("{} → {} QP {:#x}", event.source, event.destination, event.destination_qp),
                event.frame.to_string(),
                event.resume_psn.to_string(),
                format!("{:.3} ms", event.wait_ns as f64 / 1e6),
                verdict.cause.name().to_owned(),
                format!("{:?}", verdict.certainty).to_lowercase(),
                alternatives.join(", "),
                frames.join(", "),
                helped(explanation, event.remedy),
            ])
        })
        .collect();
    if !rows.is_empty() {
        parts.push(DocumentPart::Heading("Stalls".to_owned()));
        let columns = [
            "flow",
            "frame",
            "PSN",
            "wait",
            "cause",
            "certainty",
            "or",
            "shown by frames",
            "would have helped",
        ];
        parts.push(DocumentPart::Table { columns: columns.map(str::to_owned).to_vec(), rows });
    }
    let remedies = &explanation.summary.remedies;
    if !remedies.is_empty() {
        parts.push(DocumentPart::Heading("What would have helped, by the model".to_owned()));
        let columns = ["mechanism", "stalls left", "tail packet", "tail ACK", "NAK", "retransmission"];
        let share = |remedy: &Remedy, cause| {
            remedy.remaining.get(cause).map_or(String::new(), |share| format!("{:.2} %", share * 100.0))
        };
        let rows = remedies.iter().map(|remedy| {
            let shares =
                ["tail_packet", "tail_ack", "nak", "retransmission"].map(|cause| share(remedy, cause));
            [vec![remedy.name(), format!("{:.2}", remedy.stalls)], shares.to_vec()].concat()
        });
        let rows = rows.collect();
        parts.push(DocumentPart::Table { columns: columns.map(str::to_owned).to_vec(), rows });
    }
    let document = Document {
        title: format!("Why queue pairs stalled: {files}"),
        origin: format!("{} frames", explanation.frames.frames),
        parts,
        command: format!("wiremend capture explain {files}"),
    };
    document.html()
}

/// Name of the mechanism that helps most against the cause of an event.
fn helped(explanation: &Explanation, mechanism: Option<&str>) -> String {
    let remedy = explanation.summary.remedies.iter().find(|remedy| Some(remedy.mechanism) == mechanism);
    remedy.map(Remedy::name).unwrap_or_default()
}
