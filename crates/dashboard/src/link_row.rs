//! A link as operators see it.

use std::sync::OnceLock;

use serde::Serialize;
use wiremend_fleet::ProtectionEffect;
use wiremend_monitor::LossEstimate;
use wiremend_monitor::planner::{LinkEnd, NamedFabric};
use wiremend_monitor::redis::{ActionRecord, Advice, AdvisedAction, HoldRecord, LinkAction, Observation};
use wiremend_units::LinkId;

use crate::history::History;

/// The records of one end of a link.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct EndRecords {
    /// What it observes.
    pub observation: Option<Observation>,
    /// What it does.
    pub action: Option<ActionRecord>,
    /// What the planner advises.
    pub advice: Option<Advice>,
    /// A hold, perhaps one that has ended.
    pub hold: Option<HoldRecord>,
    /// When its daemon renewed its lease last.
    pub renewed_ms: Option<u64>,
}

/// A link in the table.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct LinkRow {
    /// Its lower end, which names it.
    pub link: String,
    /// Its pod, if its lower end is in one.
    pub pod: String,
    /// The lower and the upper end.
    pub ends: [EndRow; 2],
    /// Since when it corrupts, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<u64>,
    /// Whether it corrupted before `since_ms` is not known.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub since_at_least: bool,
    /// What the planner advises.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<AdviceRow>,
    /// The hold that ends last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<HoldRow>,
    /// Expected effect of protection at the loss of the worse direction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<CostRow>,
    /// The last act.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub act: Option<ActRow>,
}

/// An end of a link.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct EndRow {
    /// `NODE:PORT`.
    pub port: String,
    /// Loss of received frames, while it corrupts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<LossEstimate>,
    /// Loss that FEC counters predict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forecast: Option<f64>,
    /// Whether it has no carrier.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub down: bool,
    /// Copies of each retransmitted frame that it sends; 0 without protection.
    #[serde(skip_serializing_if = "is_zero")]
    pub copies: u8,
    /// Why it does not protect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub declined: Option<String>,
    /// Since when its daemon is silent: the other values are as old.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub silent_since_ms: Option<u64>,
    /// Whether it never had a daemon.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unmonitored: bool,
}

/// Advice on a link.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct AdviceRow {
    /// Advised action.
    pub action: AdvisedAction,
    /// Reason, with numbers.
    pub reason: String,
    /// Whether daemons in mode `advised` act on it.
    pub binding: bool,
}

/// A hold of a link.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct HoldRow {
    /// Its end, in milliseconds since 1970.
    pub until_ms: u64,
    /// Why.
    pub why: String,
    /// Whether the link is under maintenance.
    pub maintenance: bool,
}

/// Expected effect of protection, by the measurements of this project at 100 Gb/s.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct CostRow {
    /// Loss that remains.
    pub residual_loss: f64,
    /// Share of the link's speed that remains.
    pub speed: f64,
}

/// The last act on a link.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ActRow {
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// Who.
    pub by: String,
    /// What.
    pub text: String,
}

/// A daemon that has not renewed its lease for this long is shown as silent. It renews every 5 s.
const SILENT_AFTER_MS: u64 = 30_000;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
fn is_zero(copies: &u8) -> bool {
    *copies == 0
}

impl EndRecords {
    /// Returns whether there is anything to see at this end.
    pub(crate) fn is_notable(&self, now_ms: u64) -> bool {
        self.observation.is_some_and(|seen| seen.corrupting.is_some() || seen.down || seen.forecast.is_some())
            || self.hold.as_ref().is_some_and(|hold| hold.left_ms(now_ms).is_some())
            || self.advice.as_ref().is_some_and(|advice| advice.action != AdvisedAction::Nothing)
            || self.action.as_ref().is_some_and(|stored| stored.action != LinkAction::Nothing)
    }

    fn row(&self, port: String, now_ms: u64) -> EndRow {
        let seen = self.observation.unwrap_or_default();
        let (copies, declined) = match self.action.as_ref().map(|stored| &stored.action) {
            Some(LinkAction::Protect { copies }) => (*copies, None),
            Some(LinkAction::Decline { reason }) => (0, Some(reason.clone())),
            Some(LinkAction::Nothing) | None => (0, None),
        };
        EndRow {
            port,
            loss: seen.corrupting,
            forecast: seen.forecast,
            down: seen.down,
            copies,
            declined,
            silent_since_ms: self.renewed_ms.filter(|at| now_ms.saturating_sub(*at) > SILENT_AFTER_MS),
            unmonitored: self.renewed_ms.is_none(),
        }
    }
}

impl LinkRow {
    /// Makes the row of a link from the records of its ends.
    pub fn new(
        fabric: &NamedFabric,
        link: LinkId,
        records: &[EndRecords; 2],
        history: &History,
        now_ms: u64,
    ) -> Self {
        let name = |upper| fabric.name(LinkEnd { link, upper }).to_string();
        let ends = [false, true].map(|upper| records[usize::from(upper)].row(name(upper), now_ms));
        let since = [false, true].into_iter().filter(|upper| ends[usize::from(*upper)].loss.is_some());
        let since = since.filter_map(|upper| history.corrupts_since(LinkEnd { link, upper }, now_ms)).min();
        let advice = records
            .iter()
            .find_map(|end| end.advice.as_ref())
            .filter(|advice| advice.action != AdvisedAction::Nothing);
        let holds = records.iter().filter_map(|end| end.hold.as_ref());
        let hold = holds.filter(|hold| hold.left_ms(now_ms).is_some()).max_by_key(|hold| hold.until_ms);
        let tiers = fabric.tiers();
        let pod = tiers.pod(tiers.link(link).lower).map_or("", |pod| tiers.pod_name(pod));
        let act = history.last_act(link, now_ms);
        let mut row = Self {
            link: name(false),
            pod: pod.to_owned(),
            ends,
            since_ms: since.map(|(at, _)| at),
            since_at_least: since.is_some_and(|(_, is_exact)| !is_exact),
            advice: advice.map(|advice| AdviceRow {
                action: advice.action,
                reason: advice.reason.clone(),
                binding: advice.binding,
            }),
            hold: hold.map(|hold| HoldRow {
                until_ms: hold.until_ms,
                why: hold.why.clone(),
                maintenance: hold.maintenance,
            }),
            cost: None,
            act: act.map(|event| ActRow {
                at_ms: event.at_ms,
                by: event.author.text(),
                text: event.change.text(),
            }),
        };
        row.cost = row.loss().map(|loss| cost(loss.loss));
        row
    }

    /// Returns the loss of the worse direction.
    pub fn loss(&self) -> Option<LossEstimate> {
        let losses = self.ends.iter().filter_map(|end| end.loss);
        losses.max_by(|a, b| a.loss.total_cmp(&b.loss))
    }

    /// Returns whether one of its ends protects what it sends.
    pub fn is_protected(&self) -> bool {
        self.ends.iter().any(|end| end.copies > 0)
    }
}

fn cost(loss: f64) -> CostRow {
    static MEASURED: OnceLock<ProtectionEffect> = OnceLock::new();
    let measured = MEASURED.get_or_init(|| ProtectionEffect::named("100G").expect("a built-in table"));
    let at = measured.at_loss(loss);
    CostRow { residual_loss: at.residual_loss, speed: at.speed }
}
