//! Vendor-independent names of port and device counters.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! counters {
    ($($(#[doc = $doc:literal])* $variant:ident = $name:literal,)*) => {
        /// A counter of a port or device, with one name for all vendors.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
        #[serde(into = "String", try_from = "String")]
        pub enum Counter {
            $($(#[doc = $doc])* $variant,)*
        }

        impl Counter {
            /// All counters.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Returns the name in files and tables.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

counters! {
    /// Received frames without errors.
    RxGood = "rx_good",
    /// All received frames, with and without errors, if the port has such a counter.
    RxAll = "rx_all",
    /// Sent frames.
    TxGood = "tx_good",
    /// Received frames with a wrong FCS.
    RxCrc = "rx_crc",
    /// Received frames with any error, frames of illegal length included.
    RxErrors = "rx_errors",
    /// Invalid symbols received.
    RxSymbol = "rx_symbol",
    /// FEC codewords with corrected errors.
    FecCorrected = "fec_corrected",
    /// FEC codewords with uncorrectable errors.
    FecUncorrectable = "fec_uncorrectable",
    /// FEC codewords without symbol errors.
    FecSymbols0 = "fec_symbols_0",
    /// FEC codewords with 1 corrected symbol.
    FecSymbols1 = "fec_symbols_1",
    /// FEC codewords with 2 corrected symbols.
    FecSymbols2 = "fec_symbols_2",
    /// FEC codewords with 3 corrected symbols.
    FecSymbols3 = "fec_symbols_3",
    /// FEC codewords with 4 corrected symbols.
    FecSymbols4 = "fec_symbols_4",
    /// FEC codewords with 5 corrected symbols.
    FecSymbols5 = "fec_symbols_5",
    /// FEC codewords with 6 corrected symbols.
    FecSymbols6 = "fec_symbols_6",
    /// FEC codewords with 7 corrected symbols.
    FecSymbols7 = "fec_symbols_7",
    /// FEC codewords with 8 corrected symbols.
    FecSymbols8 = "fec_symbols_8",
    /// FEC codewords with 9 corrected symbols.
    FecSymbols9 = "fec_symbols_9",
    /// FEC codewords with 10 corrected symbols.
    FecSymbols10 = "fec_symbols_10",
    /// FEC codewords with 11 corrected symbols.
    FecSymbols11 = "fec_symbols_11",
    /// FEC codewords with 12 corrected symbols.
    FecSymbols12 = "fec_symbols_12",
    /// FEC codewords with 13 corrected symbols.
    FecSymbols13 = "fec_symbols_13",
    /// FEC codewords with 14 corrected symbols.
    FecSymbols14 = "fec_symbols_14",
    /// FEC codewords with 15 corrected symbols.
    FecSymbols15 = "fec_symbols_15",
    /// Bits corrected by FEC.
    FecCorrectedBits = "fec_corrected_bits",
    /// All bits received on the line.
    RxBits = "rx_bits",
    /// Received frames with a wrong FCS that the link itself requests again (Ultra Ethernet LLR).
    LlrCorrupted = "llr_corrupted",
    /// Repetitions of sent frames, because the other end requested them (Ultra Ethernet LLR).
    LlrReplays = "llr_replays",
    /// RoCE packets with a correct FCS and a wrong ICRC: corrupted inside a device.
    RxIcrc = "rx_icrc",
    /// Received frames that are too long, too short, or contradict their length field.
    RxLength = "rx_length",
    /// Received frames without errors that were discarded for lack of buffer.
    RxDiscards = "rx_discards",
    /// Frames discarded before transmission for lack of buffer.
    TxDiscards = "tx_discards",
    /// Received pause frames, PFC included.
    RxPauses = "rx_pauses",
    /// Sent pause frames, PFC included.
    TxPauses = "tx_pauses",
    /// Received RoCE packets with an ECN mark.
    EcnMarked = "ecn_marked",
    /// Received CNPs.
    CnpHandled = "cnp_handled",
    /// Requests received out of sequence.
    OutOfSequence = "out_of_sequence",
    /// Received NAKs for a sequence error.
    SequenceNaks = "sequence_naks",
    /// Responses received out of sequence (implied NAKs).
    ImpliedNaks = "implied_naks",
    /// Timeouts of the requester's ACK timer.
    AckTimeouts = "ack_timeouts",
    /// Received duplicate requests.
    Duplicates = "duplicates",
    /// Received requests without a posted receive buffer, counted by the responder.
    OutOfBuffer = "out_of_buffer",
    /// Received RNR NAKs.
    RnrNaks = "rnr_naks",
    /// Queue pairs that exceeded their retry limit.
    RetriesExceeded = "retries_exceeded",
}

impl Counter {
    /// Counters of codewords by number of corrected symbols, starting with 0.
    pub const FEC_SYMBOLS: [Self; 16] = *Self::ALL
        .split_at(Self::FecSymbols0 as usize)
        .1
        .first_chunk()
        .expect("the 16 variants are adjacent");

    /// Returns the counter with this name.
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
            format!("unknown counter `{name}`; known counters: {}", known.join(", "))
        })
    }
}

/// Values of the counters that a port has.
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
    /// Returns the value, if the port has the counter.
    pub fn get(&self, counter: Counter) -> Option<u64> {
        self.values[counter as usize]
    }

    /// Sets a value.
    pub fn set(&mut self, counter: Counter, value: u64) {
        self.values[counter as usize] = Some(value);
    }

    /// Adds to a value, because several registers of a device may count the same thing.
    pub fn add(&mut self, counter: Counter, value: u64) {
        let sum = &mut self.values[counter as usize];
        *sum = Some(sum.unwrap_or(0).saturating_add(value));
    }

    /// Iterates over the counters that the port has.
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
    fn names_map_back_to_their_counters() {
        for (at, &counter) in Counter::ALL.iter().enumerate() {
            assert_eq!(Counter::named(counter.name()), Some(counter));
            assert_eq!(counter as usize, at);
        }
        assert_eq!(Counter::named("rx_crc_errors"), None);
    }
}
