//! What a relay was told while it ran, so that the process which takes over from one that was killed goes by it too.

use std::fs;
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use wiremend_units::{CopyCount, LossRate};

use super::hold::replace;
use super::{Care, ClassError, Classes, Rule, Settings};

/// What can be changed of a relay while it runs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Wishes {
    pub(super) active: bool,
    pub(super) mode: Care,
    pub(super) classes: Vec<Rule>,
    /// Absent: by the loss that is measured.
    pub(super) copies: Option<u8>,
    pub(super) target_ppt: u64,
}

const FILE: &str = "wishes.json";
/// What is reckoned with until a loss was measured.
const LOSS_BEFORE_MEASURED: LossRate = LossRate::parts_per_trillion(1_000_000_000);

impl Wishes {
    /// What settings say.
    pub(super) fn of(settings: &Settings) -> Self {
        Self {
            active: settings.active,
            mode: settings.classes.other(),
            classes: settings.classes.rules().to_vec(),
            copies: match settings.copies {
                CopyCount::Fixed(copies) => Some(copies),
                CopyCount::Measured(_) => None,
            },
            target_ppt: settings.target.as_parts_per_trillion(),
        }
    }

    /// What the process before was told, if it was told anything.
    pub(super) fn left_for(settings: &Settings) -> Option<Self> {
        serde_json::from_slice(&fs::read(path(settings)).ok()?).ok()
    }

    /// Leaves it for the next one.
    pub(super) fn leave(&self, settings: &Settings) -> io::Result<()> {
        replace(&path(settings), &serde_json::to_vec(self).expect("plain values"))
    }

    /// A new start, or the end: nothing is left.
    pub(super) fn forget(settings: &Settings) {
        // There may be none.
        let _ = fs::remove_file(path(settings));
    }

    /// Puts it into settings.
    pub(super) fn apply(&self, settings: &mut Settings) -> Result<(), ClassError> {
        settings.active = self.active;
        settings.classes = Classes::new(self.classes.clone(), self.mode)?;
        settings.copies = self.copy_count(settings.copies);
        settings.target = LossRate::parts_per_trillion(self.target_ppt);
        Ok(())
    }

    fn copy_count(&self, before: CopyCount) -> CopyCount {
        match (self.copies, before) {
            (Some(copies), _) => CopyCount::Fixed(copies),
            (None, CopyCount::Measured(loss)) => CopyCount::Measured(loss),
            (None, CopyCount::Fixed(_)) => CopyCount::Measured(LOSS_BEFORE_MEASURED),
        }
    }
}

fn path(settings: &Settings) -> PathBuf {
    settings.own_dir().join(FILE)
}
