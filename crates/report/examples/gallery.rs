//! Draws every figure of this crate from made-up results into a directory:
//! `cargo run -p wiremend-report --example gallery -- DIR`.

use std::path::PathBuf;

use wiremend_measure::TimeoutCause;
use wiremend_report::plot::{Axis, Curve, Line, Plot, Scale, Unit, figures, standalone};
use wiremend_report::terminal::{Terminal, table, tail_plot};
use wiremend_report::{Contents, FlowWriter, Format, Ladder, Page, RunId, write_atomic, write_json};

#[path = "../src/sample.rs"]
mod sample;
#[path = "../src/sample_trace.rs"]
mod sample_trace;

#[expect(clippy::disallowed_methods, reason = "an example is its own command line")]
fn main() -> std::io::Result<()> {
    let directory = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| "gallery".to_owned()));
    std::fs::create_dir_all(&directory)?;
    let save = |name: &str, drawing: &str| write_atomic(&directory.join(name), &standalone(drawing));
    let summary = sample::summary();
    save("distribution.svg", &figures::fct_distribution(&summary.variants).svg())?;
    save("tail.svg", &figures::fct_tail(&summary.variants).svg())?;
    save("timeouts.svg", &figures::timeout_causes(&summary.variants).svg())?;
    save("probabilities.svg", &probabilities().svg())?;
    write_json(&directory.join("summary.json"), &summary)?;
    let mut flows =
        FlowWriter::create(&directory.join("flows.parquet"), Format::Parquet, Contents::default())?;
    for flow in 0..100_000 {
        flows.push(
            RunId { variant: "made up", seed: 1 },
            &sample::row(flow, 67_108_864_000, flow < 600),
            None,
        )?;
    }
    flows.finish()?;
    let sentences = [
        "One link of the fabric corrupts one packet in a thousand.".to_owned(),
        "Most losses cost a round trip. A lost tail packet waits for the retransmission timer.".to_owned(),
        "Two dummies behind every message turn that timeout into a round trip.".to_owned(),
    ];
    let page = Page {
        drawings: &[],
        traffic: &[],
        title: "Corruption with and without dummies",
        sentences: &sentences,
        summary: &summary,
    };
    write_atomic(&directory.join("report.html"), &page.html())?;
    let terminal = Terminal { width: 130, colour: true };
    print!("{}\n{}", table(&summary.variants, terminal), tail_plot(&summary.variants, terminal));
    for cause in TimeoutCause::ALL {
        let ladder = Ladder::new(
            &format!("Timeout: {cause}"),
            &sample_trace::trace(sample_trace::pattern(cause)),
            sample_trace::name,
            Ladder::RECORDS_MAX,
        );
        save(&format!("ladder-{}.svg", cause.key()), &ladder.svg())?;
        print!("\n{}", ladder.text(terminal));
    }
    let long =
        Ladder::new("A long flow", &sample_trace::trace(sample_trace::long(500)), sample_trace::name, 60);
    save("ladder-long.svg", &long.svg())?;
    print!("\n{}", long.text(terminal));
    Ok(())
}

/// A figure that compares a model with a simulation.
fn probabilities() -> Plot {
    let curve = |name: &str, scale: f64, line| Curve {
        name: name.to_owned(),
        points: (-8..=-2)
            .map(|exponent| 10_f64.powi(exponent))
            .map(|beta| (beta, scale * beta * beta.sqrt()))
            .collect(),
        line,
    };
    Plot {
        title: "Timeout probability against corruption".to_owned(),
        description: "Model and simulation.".to_owned(),
        x: Axis::new("packet corruption probability β", Scale::Log, Unit::Number),
        y: Axis::new("probability of a timeout", Scale::Log, Unit::Number),
        curves: vec![
            curve("model", 1.0, Line::Straight),
            curve("simulation", 0.9, Line::Marked),
            curve("with dummies, model", 1e-3, Line::Straight),
            curve("with dummies, simulation", 1.1e-3, Line::Marked),
        ],
    }
}
