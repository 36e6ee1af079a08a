//! Statistics that the kernel names alike for all drivers (ethtool netlink): the groups of IEEE 802.3 and
//! RMON, and those of FEC.

use super::NetError;
use super::interface::checked;
use crate::sys::netlink::{Attributes, GenericFamily, Message, Reply, read_u32, read_u64};

/// Codewords by their number of wrong symbols, from `low` to `high`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FecBin {
    /// Lowest number of wrong symbols.
    pub low: u32,
    /// Highest number of wrong symbols.
    pub high: u32,
    /// Number of codewords.
    pub codewords: u64,
}

/// Statistics of one interface. A driver has all of them, some or none.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StandardStatistics {
    /// Counters by the names that the kernel gives them.
    pub counters: Vec<(&'static str, u64)>,
    /// FEC histogram (IEEE 802.3ck); kernel 6.18 or later.
    pub fec_bins: Vec<FecBin>,
}

/// Reads standard statistics in the network namespace of the thread that opened it.
#[derive(Debug)]
pub struct StatisticsReader {
    family: GenericFamily,
}

impl StatisticsReader {
    /// Opens a reader. `None` if the kernel has no ethtool netlink (before 5.6). Needs no capability.
    pub fn open() -> Result<Option<Self>, NetError> {
        let family = GenericFamily::open("ethtool")
            .map_err(|error| NetError::failed("open generic netlink for ethtool", error))?;
        Ok(family.map(|family| Self { family }))
    }

    /// Reads the statistics of the interface `name`. What the driver or the kernel does not count is absent.
    pub fn read(&mut self, name: &str) -> Result<StandardStatistics, NetError> {
        let name = checked(name)?;
        let mut statistics = StandardStatistics::default();
        for reply in self.ask(name, ETHTOOL_MSG_STATS_GET, |message| {
            message.nest(ETHTOOL_A_STATS_HEADER | NLA_F_NESTED, |header| {
                header.put_text(ETHTOOL_A_HEADER_DEV_NAME, name);
            });
            message.nest(ETHTOOL_A_STATS_GROUPS | NLA_F_NESTED, |groups| {
                groups.put(ETHTOOL_A_BITSET_NOMASK, &[]);
                groups.put_u32(ETHTOOL_A_BITSET_SIZE, GROUPS.len() as u32);
                groups.put_u32(ETHTOOL_A_BITSET_VALUE, (1 << GROUPS.len()) - 1);
            });
        })? {
            statistics.take_groups(&reply);
        }
        for reply in self.ask(name, ETHTOOL_MSG_FEC_GET, |message| {
            message.nest(ETHTOOL_A_FEC_HEADER | NLA_F_NESTED, |header| {
                header.put_text(ETHTOOL_A_HEADER_DEV_NAME, name);
                header.put_u32(ETHTOOL_A_HEADER_FLAGS, ETHTOOL_FLAG_STATS);
            });
        })? {
            statistics.take_fec(&reply);
        }
        Ok(statistics)
    }

    fn ask(
        &mut self,
        name: &str,
        command: u8,
        fill: impl FnOnce(&mut Message),
    ) -> Result<Vec<Reply>, NetError> {
        match self.family.ask(command, fill) {
            // Older kernels do not have the command, and many drivers not the counters.
            Err(error) if error.errno() == Some(libc::EOPNOTSUPP) => Ok(Vec::new()),
            replies => replies.map_err(|error| {
                NetError::for_interface(name, format!("read the standard statistics of `{name}`"), error)
            }),
        }
    }
}

impl StandardStatistics {
    fn take_groups(&mut self, reply: &Reply) {
        let Some((_, attributes)) = reply.split(GenericFamily::HEADER) else { return };
        for (_, group) in attributes.iter().filter(|(kind, _)| *kind == ETHTOOL_A_STATS_GRP) {
            let group = Attributes::new(group);
            let id = group.u32(ETHTOOL_A_STATS_GRP_ID).and_then(|id| usize::try_from(id).ok());
            let Some(names) = id.and_then(|id| GROUPS.get(id)) else { continue };
            for (_, counter) in group.iter().filter(|(kind, _)| *kind == ETHTOOL_A_STATS_GRP_STAT) {
                for (kind, value) in Attributes::new(counter).iter() {
                    // Padding has the number of a counter, but no value.
                    let name = names.iter().find(|(known, _)| *known == kind);
                    if let (Some((_, name)), Some(value)) = (name, read_u64(value, 0)) {
                        self.counters.push((name, value));
                    }
                }
            }
        }
    }

    fn take_fec(&mut self, reply: &Reply) {
        let Some((_, attributes)) = reply.split(GenericFamily::HEADER) else { return };
        for (kind, value) in attributes.within(ETHTOOL_A_FEC_STATS).iter() {
            if let Some((_, name)) = FEC.iter().find(|(known, _)| *known == kind) {
                // An array: the port, then its lanes.
                self.counters.extend(read_u64(value, 0).map(|value| (*name, value)));
            } else if kind == ETHTOOL_A_FEC_STAT_HIST {
                self.fec_bins.extend(fec_bin(Attributes::new(value)));
            }
        }
    }
}

/// A bin has a count of 32 or 64 bits, whichever it needs.
fn fec_bin(bin: Attributes<'_>) -> Option<FecBin> {
    let count = bin.get(ETHTOOL_A_FEC_HIST_BIN_VAL)?;
    let codewords = read_u64(count, 0).or_else(|| read_u32(count, 0).map(u64::from))?;
    let (low, high) = (bin.u32(ETHTOOL_A_FEC_HIST_BIN_LOW)?, bin.u32(ETHTOOL_A_FEC_HIST_BIN_HIGH)?);
    Some(FecBin { low, high, codewords })
}

// `linux/netlink.h`, `linux/ethtool_netlink.h`.
const NLA_F_NESTED: u16 = 1 << 15;
const ETHTOOL_MSG_FEC_GET: u8 = 29;
const ETHTOOL_MSG_STATS_GET: u8 = 32;
const ETHTOOL_A_HEADER_DEV_NAME: u16 = 2;
const ETHTOOL_A_HEADER_FLAGS: u16 = 3;
const ETHTOOL_FLAG_STATS: u32 = 1 << 2;
const ETHTOOL_A_BITSET_NOMASK: u16 = 1;
const ETHTOOL_A_BITSET_SIZE: u16 = 2;
const ETHTOOL_A_BITSET_VALUE: u16 = 4;
const ETHTOOL_A_STATS_HEADER: u16 = 2;
const ETHTOOL_A_STATS_GROUPS: u16 = 3;
const ETHTOOL_A_STATS_GRP: u16 = 4;
const ETHTOOL_A_STATS_GRP_ID: u16 = 2;
const ETHTOOL_A_STATS_GRP_STAT: u16 = 4;
const ETHTOOL_A_FEC_HEADER: u16 = 1;
const ETHTOOL_A_FEC_STATS: u16 = 5;
const ETHTOOL_A_FEC_STAT_HIST: u16 = 5;
const ETHTOOL_A_FEC_HIST_BIN_LOW: u16 = 2;
const ETHTOOL_A_FEC_HIST_BIN_HIGH: u16 = 3;
const ETHTOOL_A_FEC_HIST_BIN_VAL: u16 = 4;

/// `ETHTOOL_A_FEC_STAT_…`, with the names that `ethtool --show-fec` prints.
const FEC: &[(u16, &str)] = &[(2, "corrected_blocks"), (3, "uncorrectable_blocks"), (4, "corrected_bits")];

/// Groups in the order of `ETHTOOL_STATS_…`: number and kernel name of the counters that say something about
/// a link.
const GROUPS: [&[(u16, &str)]; 4] = [
    // ETHTOOL_A_STATS_ETH_PHY_…
    &[(0, "SymbolErrorDuringCarrier")],
    // ETHTOOL_A_STATS_ETH_MAC_…
    &[
        (0, "FramesTransmittedOK"),
        (3, "FramesReceivedOK"),
        (4, "FrameCheckSequenceErrors"),
        (5, "AlignmentErrors"),
        (19, "InRangeLengthErrors"),
        (20, "OutOfRangeLengthField"),
        (21, "FrameTooLongErrors"),
    ],
    // ETHTOOL_A_STATS_ETH_CTRL_…
    &[(0, "MACControlFramesTransmitted"), (1, "MACControlFramesReceived")],
    // ETHTOOL_A_STATS_RMON_…
    &[
        (0, "etherStatsUndersizePkts"),
        (1, "etherStatsOversizePkts"),
        (2, "etherStatsFragments"),
        (3, "etherStatsJabbers"),
    ],
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Attributes as `net/ethtool/stats.c` writes them, with padding before a 64-bit value.
    fn groups() -> Message {
        let mut message = Message::new(0, 0, &[35, 1, 0, 0]);
        message.nest(ETHTOOL_A_STATS_HEADER, |header| {
            header.put_u32(1, 7).put_text(ETHTOOL_A_HEADER_DEV_NAME, "eth0");
        });
        for (id, counters) in [(9, &[(0, 1)][..]), (1, &[(3_u16, 990_u64), (4, 10), (6, 64)]), (3, &[(0, 5)])]
        {
            message.nest(ETHTOOL_A_STATS_GRP, |group| {
                group.put_u32(ETHTOOL_A_STATS_GRP_ID, id).put_u32(3, 17 + id);
                for (kind, value) in counters {
                    group.nest(ETHTOOL_A_STATS_GRP_STAT, |counter| {
                        counter.put(1, &[]).put(*kind, &value.to_ne_bytes());
                    });
                }
            });
        }
        message
    }

    /// Attributes as `net/ethtool/fec.c` writes them: arrays of the port and its lanes, and a histogram.
    fn fec() -> Message {
        let mut message = Message::new(0, 0, &[30, 1, 0, 0]);
        message.put(3, &[1]).nest(ETHTOOL_A_FEC_STATS, |fec| {
            let lanes: Vec<u8> = [30_u64, 10, 20].iter().flat_map(|count| count.to_ne_bytes()).collect();
            fec.put(2, &lanes).put(3, &4_u64.to_ne_bytes()).put(4, &[]);
            for (low, high, count) in
                [(0_u32, 0_u32, &(1_u64 << 40).to_ne_bytes()[..]), (1, 3, &9_u32.to_ne_bytes())]
            {
                fec.nest(ETHTOOL_A_FEC_STAT_HIST, |bin| {
                    bin.put_u32(ETHTOOL_A_FEC_HIST_BIN_LOW, low).put_u32(ETHTOOL_A_FEC_HIST_BIN_HIGH, high);
                    bin.put(ETHTOOL_A_FEC_HIST_BIN_VAL, count).put(5, &lanes);
                });
            }
        });
        message
    }

    #[test]
    fn groups_and_histograms_are_parsed() {
        let mut statistics = StandardStatistics::default();
        statistics.take_groups(&groups().into_reply());
        statistics.take_fec(&fec().into_reply());
        let expected = [
            ("FramesReceivedOK", 990),
            ("FrameCheckSequenceErrors", 10),
            ("etherStatsUndersizePkts", 5),
            ("corrected_blocks", 30),
            ("uncorrectable_blocks", 4),
        ];
        assert_eq!(statistics.counters, expected);
        let bins = [FecBin { low: 0, high: 0, codewords: 1 << 40 }, FecBin { low: 1, high: 3, codewords: 9 }];
        assert_eq!(statistics.fec_bins, bins);
    }

    /// Truncated replies give fewer counters, and no wrong ones.
    #[test]
    fn truncated_replies_give_fewer_counters() {
        for message in [groups(), fec()] {
            let reply = message.into_reply();
            let read = |length: usize| {
                let mut statistics = StandardStatistics::default();
                let reply = Reply { kind: 0, payload: reply.payload[..length].to_vec() };
                statistics.take_groups(&reply);
                statistics.take_fec(&reply);
                statistics
            };
            let whole = read(reply.payload.len());
            for length in 0..reply.payload.len() {
                let part = read(length);
                assert!(whole.counters.starts_with(&part.counters), "{part:?}");
                assert!(whole.fec_bins.starts_with(&part.fec_bins), "{part:?}");
                assert_ne!(part, whole);
            }
        }
    }
}
