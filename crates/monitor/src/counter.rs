//! What ports count, whatever their makers call it.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! counters {
    ($($(#[doc = $doc:literal])* $variant:ident = $name:literal,)*) => {
        /// A count that a port or a device keeps, under one name for all makers.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
        #[serde(into = "String", try_from = "String")]
        pub enum Counter {
            $($(#[doc = $doc])* $variant,)*
        }

        impl Counter {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Its name in files and tables.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

counters! {
    /// Frames that arrived whole.
    RxGood = "rx_good",
    /// All frames that arrived, whole or not, where a port counts them itself.
    RxAll = "rx_all",
    /// Frames that left.
    TxGood = "tx_good",
    /// Frames with a wrong check sequence: lost to corruption.
    RxCrc = "rx_crc",
    /// Symbols of the line that were none.
    RxSymbol = "rx_symbol",
    /// Codewords that FEC corrected.
    FecCorrected = "fec_corrected",
    /// Codewords that FEC could not correct.
    FecUncorrectable = "fec_uncorrectable",
    /// Codewords with no wrong symbol, all corrected.
    FecSymbols0 = "fec_symbols_0",
    /// Codewords with one wrong symbol, all corrected.
    FecSymbols1 = "fec_symbols_1",
    /// Codewords with 2 wrong symbols, all corrected.
    FecSymbols2 = "fec_symbols_2",
    /// Codewords with 3 wrong symbols, all corrected.
    FecSymbols3 = "fec_symbols_3",
    /// Codewords with 4 wrong symbols, all corrected.
    FecSymbols4 = "fec_symbols_4",
    /// Codewords with 5 wrong symbols, all corrected.
    FecSymbols5 = "fec_symbols_5",
    /// Codewords with 6 wrong symbols, all corrected.
    FecSymbols6 = "fec_symbols_6",
    /// Codewords with 7 wrong symbols, all corrected.
    FecSymbols7 = "fec_symbols_7",
    /// Codewords with 8 wrong symbols, all corrected.
    FecSymbols8 = "fec_symbols_8",
    /// Codewords with 9 wrong symbols, all corrected.
    FecSymbols9 = "fec_symbols_9",
    /// Codewords with 10 wrong symbols, all corrected.
    FecSymbols10 = "fec_symbols_10",
    /// Codewords with 11 wrong symbols, all corrected.
    FecSymbols11 = "fec_symbols_11",
    /// Codewords with 12 wrong symbols, all corrected.
    FecSymbols12 = "fec_symbols_12",
    /// Codewords with 13 wrong symbols, all corrected.
    FecSymbols13 = "fec_symbols_13",
    /// Codewords with 14 wrong symbols, all corrected.
    FecSymbols14 = "fec_symbols_14",
    /// Codewords with 15 wrong symbols, all corrected.
    FecSymbols15 = "fec_symbols_15",
    /// Bits that FEC corrected.
    FecCorrectedBits = "fec_corrected_bits",
    /// All bits that came, on the line.
    RxBits = "rx_bits",
    /// RoCE packets whose frame was right and whose invariant check was not: corrupted inside a device.
    RxIcrc = "rx_icrc",
    /// Frames longer or shorter than allowed, or of a length that does not fit.
    RxLength = "rx_length",
    /// Whole frames that were thrown away for want of room on arrival.
    RxDiscards = "rx_discards",
    /// Frames that were thrown away for want of room before they left.
    TxDiscards = "tx_discards",
    /// Pause frames of any kind that arrived.
    RxPauses = "rx_pauses",
    /// Pause frames of any kind that left.
    TxPauses = "tx_pauses",
    /// RoCE packets that arrived with a congestion mark.
    EcnMarked = "ecn_marked",
    /// Congestion notifications that arrived.
    CnpHandled = "cnp_handled",
    /// Requests that arrived ahead of one that was expected.
    OutOfSequence = "out_of_sequence",
    /// NAKs for a gap that arrived.
    SequenceNaks = "sequence_naks",
    /// Responses that arrived ahead of one that was expected.
    ImpliedNaks = "implied_naks",
    /// Times that no acknowledgement came in time.
    AckTimeouts = "ack_timeouts",
    /// Requests that arrived though they had been answered.
    Duplicates = "duplicates",
    /// Requests for which nothing had been posted, told by the one who received them.
    OutOfBuffer = "out_of_buffer",
    /// Answers that nothing had been posted.
    RnrNaks = "rnr_naks",
    /// Queue pairs that gave up.
    RetriesExceeded = "retries_exceeded",
}

impl Counter {
    /// Codewords by how many of their symbols were wrong and could be corrected: from none on.
    pub const FEC_SYMBOLS: [Self; 16] =
        *Self::ALL.split_at(Self::FecSymbols0 as usize).1.first_chunk().expect("they stand together");

    /// The counter with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|counter| counter.name() == name)
    }
}

impl fmt::Display for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl From<Counter> for String {
    fn from(counter: Counter) -> Self {
        counter.name().to_owned()
    }
}

impl TryFrom<String> for Counter {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        Self::named(&name).ok_or_else(|| {
            let known: Vec<_> = Self::ALL.iter().map(|counter| counter.name()).collect();
            format!("no counter is called `{name}`; there are {}", known.join(", "))
        })
    }
}

/// What a port has counted: a value for each counter that it has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counters {
    values: [Option<u64>; Counter::ALL.len()],
}

impl Default for Counters {
    fn default() -> Self {
        Self { values: [None; Counter::ALL.len()] }
    }
}

impl Counters {
    /// The value, if the port has the counter.
    pub fn get(&self, counter: Counter) -> Option<u64> {
        self.values[counter as usize]
    }

    /// Sets a value.
    pub fn set(&mut self, counter: Counter, value: u64) {
        self.values[counter as usize] = Some(value);
    }

    /// Adds to a value: several registers of a device may count the same.
    pub fn add(&mut self, counter: Counter, value: u64) {
        let sum = &mut self.values[counter as usize];
        *sum = Some(sum.unwrap_or(0).saturating_add(value));
    }

    /// All that the port has.
    pub fn iter(&self) -> impl Iterator<Item = (Counter, u64)> + '_ {
        Counter::ALL.iter().filter_map(|&counter| Some((counter, self.get(counter)?)))
    }
}

impl FromIterator<(Counter, u64)> for Counters {
    fn from_iter<I: IntoIterator<Item = (Counter, u64)>>(counts: I) -> Self {
        let mut counters = Self::default();
        for (counter, value) in counts {
            counters.set(counter, value);
        }
        counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_counters() {
        for (at, &counter) in Counter::ALL.iter().enumerate() {
            assert_eq!(Counter::named(counter.name()), Some(counter));
            assert_eq!(counter as usize, at);
        }
        assert_eq!(Counter::named("rx_crc_errors"), None);
    }
}
