//! Settings that can change while a relay runs. They survive a restart of the forwarding process.

use std::fs;
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use wiremend_units::{CopyCount, LossRate};

use super::interface_lease::replace;
use super::{ClassError, ClassRule, Classifier, ProtectionMode, Settings};

/// The settings that can change while a relay runs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct RuntimeSettings {
    pub(super) active: bool,
    pub(super) mode: ProtectionMode,
    pub(super) classes: Vec<ClassRule>,
    /// `None`: as the measured loss requires.
    pub(super) copies: Option<u8>,
    pub(super) target_ppt: u64,
}

const FILE: &str = "runtime-settings.json";
const LOSS_BEFORE_MEASURED: LossRate = LossRate::from_parts_per_trillion(1_000_000_000);

impl RuntimeSettings {
    pub(super) fn from_settings(settings: &Settings) -> Self {
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

    /// Loads the settings that the previous forwarding process stored, if any.
    pub(super) fn load(settings: &Settings) -> Option<Self> {
        serde_json::from_slice(&fs::read(path(settings)).ok()?).ok()
    }

    pub(super) fn store(&self, settings: &Settings) -> io::Result<()> {
        replace(&path(settings), &serde_json::to_vec(self).expect("plain values"))
    }

    pub(super) fn remove(settings: &Settings) {
        // Fails if there is no file.
        let _ = fs::remove_file(path(settings));
    }

    pub(super) fn apply(&self, settings: &mut Settings) -> Result<(), ClassError> {
        settings.active = self.active;
        settings.classes = Classifier::new(self.classes.clone(), self.mode)?;
        settings.copies = self.copy_count(settings.copies);
        settings.target = LossRate::from_parts_per_trillion(self.target_ppt);
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
    settings.directory().join(FILE)
}
