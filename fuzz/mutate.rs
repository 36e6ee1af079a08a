//! Checks mutated captures of a corpus in an ordinary test: few of them always, many when asked.
//!
//! An input depends on its number only. `WIREMEND_FUZZ=0..100000000` chooses the numbers; without coverage to trace,
//! a core checks some ten thousand small captures a second.

use std::fs;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use wiremend_units::mix;

/// Inputs that every run of the tests checks.
const USUAL: Range<u64> = 0..20_000;
/// Most mutations of an input.
const MUTATIONS_MAX: u64 = 12;
/// Most bytes of an input.
const BYTES_MAX: usize = 16_384;
/// Most memory of the process, in KiB: no small input may need much.
const MEMORY_MAX_KIB: u64 = 400_000;

/// Checks mutated files of a target's corpus. A capture starts at `offset` of each file.
pub(crate) fn mutate(target: &str, offset: usize, check: fn(&[u8])) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let entries = fs::read_dir(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let corpus: Vec<Vec<u8>> = paths.iter().map(|path| fs::read(path).unwrap()).collect();
    assert!(!corpus.is_empty(), "{} is empty", directory.display());
    let numbers = numbers();
    for number in numbers.clone() {
        let input = mutated(number, offset, &corpus);
        if let Err(cause) = catch_unwind(AssertUnwindSafe(|| check(&input))) {
            let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{target}-{number}"));
            fs::write(&path, &input).unwrap();
            println!("input {number} of {target}, kept in {}", path.display());
            std::panic::resume_unwind(cause);
        }
        if number % 1_000_000 == 0 {
            println!("{target}: {number} of {numbers:?}");
        }
    }
    let peak_kib = peak_kib();
    println!("{target}: {} inputs, at most {peak_kib} KiB of memory", numbers.end - numbers.start);
    assert!(peak_kib < MEMORY_MAX_KIB, "{peak_kib} KiB of memory");
}

#[expect(clippy::disallowed_methods, reason = "a person chooses the inputs by it")]
fn numbers() -> Range<u64> {
    let Ok(wanted) = std::env::var("WIREMEND_FUZZ") else { return USUAL };
    let (from, to) = wanted.split_once("..").expect("WIREMEND_FUZZ=from..to");
    from.parse().expect("a number")..to.parse().expect("a number")
}

/// Most memory that this process had.
fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

/// Draws that depend only on a number.
struct Draws(u64);

impl Draws {
    fn below(&mut self, end: usize) -> usize {
        self.0 = mix(self.0);
        (self.0 >> 16) as usize % end.max(1)
    }

    fn byte(&mut self, old: u8) -> u8 {
        match self.below(5) {
            0 => old ^ 1 << self.below(8),
            1 => old.wrapping_add(1 + self.below(4) as u8),
            2 => old.wrapping_sub(1 + self.below(4) as u8),
            3 => [0, 1, 0x7F, 0x80, 0xFF][self.below(5)],
            _ => self.below(256) as u8,
        }
    }
}

fn mutated(number: u64, offset: usize, corpus: &[Vec<u8>]) -> Vec<u8> {
    let mut draws = Draws(mix(number));
    let mut input = corpus[draws.below(corpus.len())].clone();
    for byte in input.iter_mut().take(offset) {
        *byte = draws.below(256) as u8;
    }
    for _ in 0..=draws.below(MUTATIONS_MAX as usize) {
        let other = &corpus[draws.below(corpus.len())];
        mutation(&mut input, other, offset, &mut draws);
    }
    input.truncate(BYTES_MAX);
    input
}

/// Changes bytes, mostly in headers, or packets as a whole.
fn mutation(input: &mut Vec<u8>, other: &[u8], offset: usize, draws: &mut Draws) {
    let units = units(input, offset);
    let unit = units[draws.below(units.len())].clone();
    match draws.below(16) {
        0 => drop(input.drain(unit)),
        1 | 2 => {
            // A packet once more, or in another place.
            let copy = input[unit.clone()].to_vec();
            if draws.below(2) == 0 {
                input.drain(unit.clone());
            }
            let at = units[draws.below(units.len())].start.min(input.len());
            input.splice(at..at, copy);
        }
        3 => {
            let theirs = self::units(other, offset);
            let theirs = theirs[draws.below(theirs.len())].clone();
            input.splice(unit.start..unit.start, other[theirs].iter().copied());
        }
        4 => {
            let at = draws.below(input.len() + 1);
            let inserted: Vec<u8> = (0..=draws.below(8)).map(|_| draws.below(256) as u8).collect();
            input.splice(at..at, inserted);
        }
        5 => {
            let at = draws.below(input.len() + 1);
            input.drain(at..(at + 1 + draws.below(8)).min(input.len()));
        }
        6 if draws.below(8) == 0 => input.truncate(draws.below(input.len() + 1)),
        6 | 7 => {
            let at = draws.below(input.len());
            if let Some(byte) = input.get_mut(at) {
                *byte = draws.byte(*byte);
            }
        }
        _ => {
            // Headers are in the first bytes of a packet.
            let at = unit.start + draws.below(unit.len().min(96));
            if let Some(byte) = input.get_mut(at) {
                *byte = draws.byte(*byte);
            }
        }
    }
}

/// Records of a pcap file, blocks of a pcapng file; never empty.
fn units(file: &[u8], offset: usize) -> Vec<Range<usize>> {
    let word = |at: usize, is_big: bool| {
        let bytes = *file.get(at..)?.first_chunk::<4>()?;
        Some(if is_big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    };
    let (mut at, is_big, length_at, around) =
        match file.get(offset..).and_then(|file| file.first_chunk::<4>()) {
            Some([0xA1, 0xB2, ..]) => (offset + 24, true, 8, 16),
            Some([_, _, 0xB2, 0xA1]) => (offset + 24, false, 8, 16),
            _ => (offset, file.get(offset + 8) == Some(&0x1A), 4, 0),
        };
    let mut units = Vec::new();
    while let Some(len) = word(at + length_at, is_big) {
        let end = at.saturating_add(around).saturating_add(len as usize);
        if end <= at || end > file.len() {
            break;
        }
        units.push(at..end);
        at = end;
    }
    if units.is_empty() {
        units.push(0..file.len());
    }
    units
}
