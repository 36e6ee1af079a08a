//! `--peers FILE`: speeds of other simulators beside ours.
//!
//! The file has a line `simulator,case,packet-hops per CPU second` for each figure that was measured elsewhere,
//! best on the same machine. Lines that start with `#` are comments.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::Pair;

/// Returns a table of the figures in `file`, with ours of the same case.
pub(super) fn table(file: &Path, ours: &[Pair]) -> Result<String> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read `{}`", file.display()))?;
    let mut table =
        format!("\n{:<16} {:<24} {:>11} {:>11} {:>8}\n", "simulator", "case", "Mhops/CPU s", "ours", "ratio");
    for (line, text) in (1..).zip(text.lines()).filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
    {
        let place =
            || format!("{}:{line}: expected `simulator,case,packet-hops per CPU second`", file.display());
        let (simulator, case, speed) = parse(text).with_context(place)?;
        let our = ours.iter().find(|pair| pair.one.case == case);
        let our =
            our.with_context(|| format!("{}:{line}: `{case}` was not measured; name it", file.display()))?;
        let our = our.one.hops_per_cpu_s().median;
        let (theirs, ratio) = (speed / 1e6, our / speed);
        writeln!(table, "{simulator:<16} {case:<24} {theirs:>11.2} {:>11.2} {ratio:>7.1}x", our / 1e6)
            .expect("text grows");
    }
    Ok(table)
}

fn parse(line: &str) -> Option<(&str, &str, f64)> {
    // The name of a case may contain commas.
    let (simulator, rest) = line.split_once(',')?;
    let (case, speed) = rest.rsplit_once(',')?;
    let speed = speed.trim().parse::<f64>().ok().filter(|speed| speed.is_finite() && *speed > 0.0)?;
    Some((simulator.trim(), case.trim(), speed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_a_simulator_a_case_and_a_speed() {
        assert_eq!(
            parse("csg-htsim, perm-k8+irn,loss, 1.34e6"),
            Some(("csg-htsim", "perm-k8+irn,loss", 1.34e6))
        );
        for wrong in ["", "csg-htsim", "csg-htsim,perm-k8", "csg-htsim,perm-k8,fast", "csg-htsim,perm-k8,-1"]
        {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
