//! `wiremend model phy`: the frame loss ratio from attenuation, bit errors or counters.

use serde_json::{Value, json};
use wiremend_model::counters::{self, Histogram};
use wiremend_model::phy::{Code, Generation, Optics};
use wiremend_report::plot::{self, Axis, Curve, Line, Plot, Scale, Unit};
use wiremend_report::{text_table, write_atomic};

use super::model::sci;
use crate::args::explain::{CodeChoice, Phy};
use crate::failure::{Answer, Failure};
use crate::terminal;

pub(super) fn run(args: &Phy) -> Result<Answer, Failure> {
    let frame = args.frame.get() as f64;
    if !(64.0..=65_536.0).contains(&frame) {
        return Err(Failure::Input("--frame: a frame has 64 to 65536 bytes".to_owned()));
    }
    let optics = Optics { budget_db: args.budget, ..Optics::default() };
    if let Some(path) = &args.plot {
        let drawing = drawing(&optics, frame);
        write_atomic(path, &plot::standalone(&drawing.svg())).map_err(|error| Failure::file(&error))?;
    }
    let table = table(args, &optics, frame)?;
    if args.json {
        terminal::print(&format!("{:#}\n", table.json()))?;
    } else {
        let text =
            format!("{}\n\n{}", table.title, text_table(&table.headings, &table.cells(), terminal::stdout()));
        terminal::print(&text)?;
    }
    Ok(Answer::Yes)
}

/// A result: one row per generation of links, or per interpretation of counters.
struct Table {
    title: String,
    headings: Vec<&'static str>,
    keys: Vec<&'static str>,
    rows: Vec<(String, Vec<Option<f64>>)>,
    /// Format of numbers.
    write: fn(f64) -> String,
}

impl Table {
    fn cells(&self) -> Vec<Vec<String>> {
        let cell = |value: &Option<f64>| value.map_or("–".to_owned(), self.write);
        self.rows
            .iter()
            .map(|(name, values)| std::iter::once(name.clone()).chain(values.iter().map(cell)).collect())
            .collect()
    }

    fn json(&self) -> Value {
        let rows = self.rows.iter().map(|(name, values)| {
            let mut row = json!({ "name": name });
            for (key, value) in self.keys.iter().zip(values) {
                row[*key] = json!(value);
            }
            row
        });
        json!({ "title": self.title, "rows": rows.collect::<Vec<_>>() })
    }
}

fn table(args: &Phy, optics: &Optics, frame: f64) -> Result<Table, Failure> {
    if let Some(attenuation) = args.attenuation {
        return Ok(at_attenuation(optics, attenuation, frame));
    }
    if let Some(rate) = args.ber {
        return Ok(at_error_rate(rate, frame));
    }
    if let (Some(corrected), Some(bits)) = (args.corrected_bits, args.bits) {
        return Ok(at_error_rate(ratio("corrected-bits", corrected, "bits", bits)?, frame));
    }
    if let (Some(bad), Some(frames)) = (args.bad_frames, args.frames) {
        let loss = ratio("bad-frames", bad, "frames", frames)?;
        return Ok(counted("by counters", vec![("frames with CRC errors", None, loss)], frame));
    }
    if args.codewords.is_empty() { Ok(overview(optics, frame)) } else { from_codewords(args, frame) }
}

fn ratio(part_name: &str, part: f64, whole_name: &str, whole: f64) -> Result<f64, Failure> {
    if whole > 0.0 && part <= whole {
        return Ok(part / whole);
    }
    Err(Failure::Input(format!(
        "--{part_name} {part} of --{whole_name} {whole} is impossible; --{whole_name} counts all of them"
    )))
}

/// Computes the attenuation at which each generation fails.
fn overview(optics: &Optics, frame: f64) -> Table {
    const LOSSES: [f64; 4] = [1e-8, 1e-5, 1e-3, 1e-1];
    let row = |generation: &Generation| {
        let at = |&loss: &f64| Some(optics.attenuation_for(generation, loss, frame));
        (generation.name.to_owned(), LOSSES.iter().map(at).collect())
    };
    Table {
        title: format!("Attenuation in dB for this loss ratio of {frame}-byte frames"),
        headings: vec!["", "1e-8", "1e-5", "1e-3", "1e-1"],
        keys: vec!["loss_1e-8_db", "loss_1e-5_db", "loss_1e-3_db", "loss_1e-1_db"],
        rows: Generation::ALL.iter().map(row).collect(),
        write: |db| format!("{db:.2}"),
    }
}

fn at_attenuation(optics: &Optics, attenuation: f64, frame: f64) -> Table {
    let row = |generation: &Generation| {
        let point = optics.operating_point(generation, attenuation, frame);
        let codewords = generation.code.map(|code| code.codeword_loss(point.bit_error_rate));
        (
            generation.name.to_owned(),
            vec![Some(point.q), Some(point.bit_error_rate), codewords, Some(point.frame_loss)],
        )
    };
    Table {
        title: format!("At an attenuation of {attenuation} dB, frames of {frame} B"),
        headings: vec!["", "Q", "bit errors before FEC", "codewords lost", "frames lost"],
        keys: vec!["q", "bit_error_rate", "codeword_loss", "frame_loss"],
        rows: Generation::ALL.iter().map(row).collect(),
        write: sci,
    }
}

fn at_error_rate(rate: f64, frame: f64) -> Table {
    let row = |(name, code): (&str, Option<Code>)| {
        let codewords = code.map(|code| code.codeword_loss(rate));
        let frames = codewords.map_or_else(
            || wiremend_model::bits::frame_loss(rate, frame),
            |loss| Code::frame_loss(loss, frame, 1),
        );
        (name.to_owned(), vec![codewords, Some(frames)])
    };
    let codes = [("no FEC", None), ("RS(528,514)", Some(Code::RS528)), ("RS(544,514)", Some(Code::RS544))];
    Table {
        title: format!("At a bit error ratio of {} before FEC, frames of {frame} B", sci(rate)),
        headings: vec!["", "codewords lost", "frames lost"],
        keys: vec!["codeword_loss", "frame_loss"],
        rows: codes.into_iter().map(row).collect(),
        write: sci,
    }
}

fn from_codewords(args: &Phy, frame: f64) -> Result<Table, Failure> {
    let code = match args.code {
        CodeChoice::Rs528 => Code::RS528,
        CodeChoice::Rs544 => Code::RS544,
    };
    let bins = code.corrects as usize + 1;
    if args.codewords.len() > bins {
        return Err(Failure::Input(format!(
            "--codewords: {} bins, but this code corrects {} symbols: give at most {bins}, the rest as --uncorrectable",
            args.codewords.len(),
            code.corrects
        )));
    }
    let histogram = Histogram { corrected: &args.codewords, uncorrectable: args.uncorrectable };
    if histogram.total() <= 0.0 {
        return Err(Failure::Input("--codewords: all counts are zero".to_owned()));
    }
    let mut rows = vec![
        ("observed: uncorrectable", histogram.observed_codeword_loss()),
        ("expected: independent symbol errors", histogram.independent_codeword_loss(code)),
    ];
    if let Some(loss) = histogram.extrapolated_codeword_loss(code) {
        rows.push(("expected: extrapolated histogram", loss));
    }
    let rows = rows
        .into_iter()
        .map(|(name, loss)| (name, Some(loss), counters::frame_loss(loss, frame, args.interleaved)))
        .collect();
    Ok(counted("by codewords", rows, frame))
}

fn counted(what: &str, rows: Vec<(&str, Option<f64>, f64)>, frame: f64) -> Table {
    Table {
        title: format!("Frames of {frame} B: {what}"),
        headings: vec!["", "codewords lost", "frames lost"],
        keys: vec!["codeword_loss", "frame_loss"],
        rows: rows
            .into_iter()
            .map(|(name, codewords, frames)| (name.to_owned(), vec![codewords, Some(frames)]))
            .collect(),
        write: sci,
    }
}

/// Plots the frame loss ratio over attenuation, as in Fig. 1 of `LinkGuardian`.
fn drawing(optics: &Optics, frame: f64) -> Plot {
    const STEP_DB: f64 = 0.05;
    const LEAST: f64 = 1e-9;
    let curve = |generation: &Generation| {
        let start = optics.attenuation_for(generation, LEAST, frame);
        let points = (0..400).map(|i| start + f64::from(i) * STEP_DB);
        let points = points.map(|db| (db, optics.operating_point(generation, db, frame).frame_loss));
        // The curve ends at certain loss.
        let rising: Vec<_> = points.take_while(|point| point.1 < 0.999_9).collect();
        Curve { name: generation.name.to_owned(), points: rising, line: Line::Straight }
    };
    let curves: Vec<Curve> = Generation::ALL.iter().map(curve).collect();
    let ends = curves.iter().flat_map(|curve| curve.points.iter().map(|point| point.0));
    let (first, last) = ends.fold((f64::MAX, f64::MIN), |(low, high), db| (low.min(db), high.max(db)));
    Plot {
        title: format!("Loss ratio of {frame}-byte frames over attenuation"),
        description: "Faster and denser signals fail at lower attenuation.".to_owned(),
        x: Axis::new("optical attenuation in dB", Scale::Linear, Unit::Number)
            .with_range(first.floor(), last.ceil()),
        y: Axis::new("frames lost", Scale::Log, Unit::Number).with_range(LEAST, 1.0),
        curves,
    }
}
