//! `wiremend capture decode` compared with tshark, field by field, on captures of soft-RoCE.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::captures::has_tshark;
use crate::program::wiremend;

/// Fields of tshark, and where `--json` has them.
const FIELDS: [(&str, &str); 23] = [
    ("frame.number", "/frame"),
    ("ip.src", "/source"),
    ("ip.dst", "/destination"),
    ("ip.id", "/ip_id"),
    ("ip.dsfield.dscp", "/dscp"),
    ("ip.dsfield.ecn", "/ecn"),
    ("udp.srcport", "/source_port"),
    ("infiniband.bth.opcode", "/opcode"),
    ("infiniband.bth.destqp", "/qp"),
    ("infiniband.bth.psn", "/psn"),
    ("infiniband.bth.a", "/ack_request"),
    ("infiniband.bth.se", "/solicited"),
    ("infiniband.bth.m", "/migrated"),
    ("infiniband.bth.p_key", "/partition_key"),
    ("infiniband.reth.va", "/reth_address"),
    ("infiniband.reth.r_key", "/reth_key"),
    ("infiniband.reth.dmalen", "/reth_bytes"),
    ("infiniband.aeth.syndrome", "/aeth/syndrome"),
    ("infiniband.aeth.msn", "/aeth/msn"),
    ("infiniband.deth.srcqp", "/source_qp"),
    ("infiniband.deth.q_key", "/queue_key"),
    ("infiniband.atomiceth.swapdt", "/atomic/swap_or_add"),
    ("infiniband.atomicacketh.origremdt", "/atomic_original"),
];

#[test]
fn every_field_of_real_captures_reads_as_in_wireshark() {
    if !has_tshark() {
        return;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../capture/tests/data");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "gz"));
    paths.sort();
    assert!(paths.len() > 20, "{}", paths.len());
    let (mut frames, mut fields) = (0, 0);
    for path in &paths {
        let text = wiremend(&["capture", "decode", path.to_str().unwrap(), "--json"]).ok();
        let ours: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let theirs = dissected(path);
        assert_eq!(ours.len(), theirs.len(), "{}", path.display());
        for (ours, theirs) in ours.iter().zip(&theirs) {
            let cells: Vec<&str> = theirs.split('|').collect();
            assert_eq!(cells.len(), FIELDS.len(), "{theirs}");
            for ((name, pointer), cell) in FIELDS.iter().zip(cells) {
                let ours = as_text(ours.pointer(pointer).unwrap_or(&Value::Null));
                assert_eq!(ours, number(cell), "{name} of {theirs} in {}", path.display());
                fields += usize::from(!ours.is_empty());
            }
            frames += 1;
        }
    }
    assert!(frames > 1000 && fields > 14 * frames, "{frames} {fields}");
}

/// Returns the fields of each frame, separated by `|`.
fn dissected(path: &Path) -> Vec<String> {
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(path).args(["-T", "fields", "-E", "separator=|", "-E", "occurrence=f"]);
    tshark.args(FIELDS.iter().flat_map(|(name, _)| ["-e", name]));
    let output = tshark.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// tshark prints some numbers in hexadecimal.
fn number(cell: &str) -> String {
    let Some(digits) = cell.strip_prefix("0x") else { return cell.to_owned() };
    u64::from_str_radix(digits, 16).unwrap().to_string()
}

fn as_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(bit) => u8::from(*bit).to_string(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
