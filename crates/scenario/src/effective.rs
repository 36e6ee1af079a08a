//! The effective text of a scenario: every value with its default, after overrides and changes of a variant.

use serde::Serialize;
use toml::{Table, Value};
use wiremend_units::Sha256;

use crate::scenario::Scenario;
use crate::tree::{KIND, REGISTERED};

impl Scenario {
    /// Returns a text that [loads](crate::load()) to this scenario. It names the values that the defaults gave, so it
    /// means the same when a default changes.
    pub fn to_toml(&self) -> String {
        toml::to_string(&self.table()).expect("a table is TOML")
    }

    fn table(&self) -> Table {
        let mut whole = Table::try_from(self).expect("every value of a scenario is a value of TOML");
        if let Some(Value::Table(table)) = whole.get_mut("topology") {
            flatten_kind(table);
        }
        for list in ["workload", "impair"] {
            let items = whole.get_mut(list).and_then(Value::as_array_mut);
            items.into_iter().flatten().filter_map(Value::as_table_mut).for_each(flatten_kind);
        }
        whole
    }

    /// Returns the hash of what is simulated with any seed: [`Self::sha256`] without the seed and the texts for readers.
    pub fn sha256_of_all_seeds(&self) -> String {
        let mut whole = self.table();
        for field in ["title", "about", "seed", "variant"] {
            whole.remove(field);
        }
        Sha256::of(toml::to_string(&whole).expect("a table is TOML").as_bytes())
    }

    /// Returns the SHA-256 hash of [`Self::to_toml`]: equal scenarios have equal hashes, however they were written.
    pub fn sha256(&self) -> String {
        Sha256::of(self.to_toml().as_bytes())
    }
}

/// Returns a value as a scenario file spells it: the name of a scheme, or a table.
pub fn spelled(value: &impl Serialize) -> String {
    match serde_json::to_value(value).expect("every value of a scenario is a value of JSON") {
        serde_json::Value::String(name) => name,
        other => other.to_string(),
    }
}

/// Turns `kind = { "fat-tree" = { k = 4 } }` into `kind = "fat-tree"` and `k = 4`.
fn flatten_kind(table: &mut Table) {
    let Some(Value::Table(kind)) = table.remove(KIND) else { return };
    for (name, fields) in kind {
        if name != REGISTERED {
            table.insert(KIND.to_owned(), Value::String(name));
        }
        if let Value::Table(fields) = fields {
            table.extend(fields);
        }
    }
}
