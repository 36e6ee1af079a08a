//! Collects the rows of a state.

use std::collections::{BTreeMap, BTreeSet};

use wiremend_fabric::csv_line::excerpt;
use wiremend_fabric::tiers::Tiers;
use wiremend_units::LinkId;

use super::fabric_state::{BadState, CorruptingLink, FabricState};
use super::timestamp::parse_timestamp;

/// Place of an item in its file.
pub(super) enum Place {
    Whole,
    Line(u64),
    /// A list of a JSON file, and the position in it.
    Item(&'static str, usize),
}

/// Collects the rows of a state. Only the time is necessary; other invalid rows are skipped.
pub(super) struct StateReader<'a> {
    tiers: &'a Tiers,
    state: FabricState,
    time: Option<i64>,
    out: BTreeSet<LinkId>,
    /// Position of each corrupting link.
    corrupting: BTreeMap<LinkId, usize>,
}

impl<'a> StateReader<'a> {
    pub(super) fn new(tiers: &'a Tiers) -> Self {
        Self {
            tiers,
            state: FabricState::default(),
            time: None,
            out: BTreeSet::new(),
            corrupting: BTreeMap::new(),
        }
    }

    /// Reads a row. The error concerns the state as a whole.
    pub(super) fn row(&mut self, place: &Place, values: &[&str]) -> Result<(), BadState> {
        let read = match values {
            ["time", when] => return self.read_time(when).map_err(|what| place.fault(what)),
            [kind @ ("down" | "draining"), name] => self.read_out(name, *kind == "down"),
            ["corrupt", name, loss] => self.read_corrupting(name, loss),
            [kind @ ("tor" | "pod"), name, share] => self.read_constraint(*kind == "tor", name, share),
            [kind, ..] => Err(format!(
                "unknown row `{}` with {} values: use time,WHEN or down,LINK or draining,LINK or corrupt,LINK,LOSS or tor,NAME,CONSTRAINT or pod,NAME,CONSTRAINT",
                excerpt(kind),
                values.len() - 1
            )),
            [] => Ok(()),
        };
        if let Err(what) = read {
            self.skip(place, what);
        }
        Ok(())
    }

    /// Lists an item that is skipped or changed.
    pub(super) fn skip(&mut self, place: &Place, what: String) {
        self.state.skipped.push(place.fault(what));
    }

    fn read_time(&mut self, when: &str) -> Result<(), String> {
        let time = parse_timestamp(when).ok_or_else(|| {
            format!("`{}` is not a time: write 2026-11-15T12:00:00Z, or seconds since 1970", excerpt(when))
        })?;
        match self.time.replace(time) {
            None => Ok(()),
            Some(_) => Err("the time is given twice: remove one".to_owned()),
        }
    }

    fn read_out(&mut self, name: &str, is_down: bool) -> Result<(), String> {
        let link = self.link(name).map_err(|what| self.unknown_out(name, what))?;
        if !self.out.insert(link) {
            return Err(format!(
                "`{}` is already down or draining, perhaps reported by its other end; it counts once: remove one row",
                excerpt(name)
            ));
        }
        let list = if is_down { &mut self.state.down } else { &mut self.state.draining };
        list.push(link);
        Ok(())
    }

    /// A link that is down, but not known: its switch is known to have lost capacity.
    fn unknown_out(&mut self, name: &str, what: String) -> String {
        let ends = name.split_whitespace().filter_map(|end| self.tiers.unlinked_end(end));
        let switches: Vec<_> = ends.filter(|(_, is_unused)| !is_unused).map(|(switch, _)| switch).collect();
        if switches.is_empty() {
            return what;
        }
        let names: Vec<_> = switches.iter().map(|switch| self.tiers.name(*switch)).collect();
        let until = format!("{what}; until then no ToR at or below {} loses capacity", names.join(" or "));
        self.state.uncertain.extend(switches);
        until
    }

    fn read_corrupting(&mut self, name: &str, loss: &str) -> Result<(), String> {
        let link = self.link(name)?;
        let parsed: Option<f64> = loss.parse().ok().filter(|loss| *loss > 0.0 && *loss < 1.0);
        let loss = parsed.ok_or_else(|| {
            format!("`{}` is not a loss rate between 0 and 1, both excluded", excerpt(loss))
        })?;
        if let Some(place) = self.corrupting.get(&link) {
            let known = &mut self.state.corrupting[*place].loss;
            *known = known.max(loss);
            return Err(format!(
                "`{}` already has a corrupt row, perhaps from its other end; the higher loss, {known:e}, counts: remove one row",
                excerpt(name)
            ));
        }
        self.corrupting.insert(link, self.state.corrupting.len());
        self.state.corrupting.push(CorruptingLink { link, loss });
        Ok(())
    }

    fn read_constraint(&mut self, is_tor: bool, name: &str, share: &str) -> Result<(), String> {
        let (tor, pod) =
            if is_tor { (self.tiers.tor_by_name(name), None) } else { (None, self.tiers.pod_by_name(name)) };
        let what = if is_tor { "ToR" } else { "pod" };
        if tor.is_none() && pod.is_none() {
            return Err(format!("`{}` is not a {what} of the fabric: correct the name", excerpt(name)));
        }
        let parsed: Option<f64> = share.parse().ok().filter(|share| *share > 0.0 && *share <= 1.0);
        let constraints = &mut self.state.constraints;
        // Without a valid constraint, nothing may be taken.
        let new = parsed.unwrap_or(1.0);
        let mut is_second = false;
        let mut stricter = |known: Option<&mut f64>| {
            is_second = known.is_some();
            known.map_or(new, |known| known.max(new))
        };
        if let Some(tor) = tor {
            let share = stricter(constraints.tors.get_mut(&tor));
            constraints.tors.insert(tor, share);
        } else if let Some(pod) = pod {
            let share = stricter(constraints.pods.get_mut(&pod));
            constraints.pods.insert(pod, share);
        }
        if parsed.is_none() {
            return Err(format!(
                "`{}` is not a constraint: a number above 0, at most 1; until then {what} `{}` keeps all of its capacity",
                excerpt(share),
                excerpt(name)
            ));
        }
        if is_second {
            return Err(format!(
                "{what} `{}` is given twice, and the stricter constraint counts: remove one row",
                excerpt(name)
            ));
        }
        Ok(())
    }

    fn link(&self, name: &str) -> Result<LinkId, String> {
        self.tiers.link_by_name(name).ok_or_else(|| {
            let unlinked: Vec<_> =
                name.split_whitespace().filter_map(|end| self.tiers.unlinked_end(end)).collect();
            match &unlinked[..] {
                [(_, true), ..] => format!(
                    "`{}` is a link that the fabric does not count, such as one between two ToRs: remove the row",
                    excerpt(name)
                ),
                [(switch, false), ..] if !name.trim().contains(char::is_whitespace) => format!(
                    "`{}` is not a link of the fabric, but switch `{}` is: correct the port, or add the link to the fabric",
                    excerpt(name),
                    self.tiers.name(*switch)
                ),
                _ => format!(
                    "`{}` is not a link of the fabric: write a number below {}, SWITCH:PORT, or both ends separated by a blank",
                    excerpt(name),
                    self.tiers.link_count()
                ),
            }
        })
    }

    pub(super) fn finish(self) -> Result<FabricState, BadState> {
        let Self { time, mut state, out, .. } = self;
        let Some(time_s) = time else {
            let what = "the time is missing: add a row time,2026-11-15T12:00:00Z".to_owned();
            return Err(BadState { place: None, what });
        };
        state.time_s = time_s;
        // A link out of service carries no frames that it could corrupt.
        state.corrupting.retain(|corrupting| !out.contains(&corrupting.link));
        Ok(state)
    }
}

impl Place {
    fn fault(&self, what: String) -> BadState {
        match self {
            Self::Whole => BadState { place: None, what },
            Self::Line(line) => BadState { place: Some((*line, 1)), what },
            Self::Item(list, number) => BadState { place: None, what: format!("{list}[{number}]: {what}") },
        }
    }
}
