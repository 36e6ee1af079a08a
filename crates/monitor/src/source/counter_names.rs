//! Counter names of kernels, drivers, RDMA devices and switch chips.

use crate::counter::Counter;

/// Origin of a counter name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CounterGroup {
    /// Interface statistics of the kernel.
    Interface,
    /// Driver statistics, as listed by `ethtool -S`.
    Driver,
    /// Statistics that the kernel names alike for all drivers (ethtool netlink).
    Standard,
    /// Counters of RDMA devices (`hw_counters`).
    Rdma,
    /// Statistics of switch chips (SAI), as `SONiC` keeps them.
    Switch,
    /// Interface statistics in the metrics of `node_exporter`.
    NodeExporter,
    /// `OpenConfig`: `state/counters` of an interface.
    OpenConfigInterface,
    /// `OpenConfig`: `ethernet/state/counters` of an interface.
    OpenConfigEthernet,
    /// `OpenConfig`: `transceiver/state` of a component.
    OpenConfigTransceiver,
}

impl CounterGroup {
    /// Returns the known names.
    pub(super) fn names(self) -> impl Iterator<Item = (&'static str, Counter)> {
        let (table, more): (_, &[_]) = match self {
            Self::Interface => (INTERFACE, &[]),
            // Some drivers list counters by the names of IEEE 802.3.
            Self::Driver => (DRIVER, IEEE),
            Self::Standard => (IEEE, STANDARD),
            Self::Rdma => (RDMA, &[]),
            Self::Switch => (SWITCH, &[]),
            Self::NodeExporter => (NODE_EXPORTER, &[]),
            Self::OpenConfigInterface => (OPENCONFIG_INTERFACE, &[]),
            Self::OpenConfigEthernet => (OPENCONFIG_ETHERNET, &[]),
            Self::OpenConfigTransceiver => (OPENCONFIG_TRANSCEIVER, &[]),
        };
        table.iter().chain(more).copied()
    }
}

/// Returns the counter with this name.
///
/// Several origins often count the same thing. Within one origin the registers with the same counter are
/// added. Between origins the driver has precedence over the interface statistics, because it is closer to
/// the hardware.
pub fn counter_for_name(group: CounterGroup, name: &str) -> Option<Counter> {
    group.names().find(|(known, _)| *known == name).map(|(_, counter)| counter)
}

/// Kernel names (`Documentation/networking/statistics`); `rx_packets` counts good frames.
const INTERFACE: &[(&str, Counter)] = &[
    ("rx_packets", Counter::RxGood),
    ("tx_packets", Counter::TxGood),
    ("rx_crc_errors", Counter::RxCrc),
    ("rx_length_errors", Counter::RxLength),
    ("rx_missed_errors", Counter::RxDiscards),
    ("tx_dropped", Counter::TxDiscards),
];

const DRIVER: &[(&str, Counter)] = &[
    // mlx5.
    ("rx_packets_phy", Counter::RxGood),
    ("tx_packets_phy", Counter::TxGood),
    ("rx_crc_errors_phy", Counter::RxCrc),
    ("rx_symbol_err_phy", Counter::RxSymbol),
    ("rx_in_range_len_errors_phy", Counter::RxLength),
    ("rx_out_of_range_len_phy", Counter::RxLength),
    ("rx_oversize_pkts_phy", Counter::RxLength),
    ("rx_undersize_pkts_phy", Counter::RxLength),
    ("rx_discards_phy", Counter::RxDiscards),
    ("tx_discards_phy", Counter::TxDiscards),
    ("rx_pause_ctrl_phy", Counter::RxPauses),
    ("tx_pause_ctrl_phy", Counter::TxPauses),
    ("rx_fec_corrected_blocks_phy", Counter::FecCorrected),
    ("rx_fec_uncorrectable_blocks_phy", Counter::FecUncorrectable),
    ("rx_corrected_bits_phy", Counter::FecCorrectedBits),
    ("rx_bits_phy", Counter::RxBits),
    // ice.
    ("rx_crc_errors.nic", Counter::RxCrc),
    ("illegal_bytes.nic", Counter::RxSymbol),
    ("rx_oversize.nic", Counter::RxLength),
    ("rx_undersize.nic", Counter::RxLength),
    ("rx_length_errors.nic", Counter::RxLength),
    ("rx_dropped.nic", Counter::RxDiscards),
    ("tx_dropped_link_down.nic", Counter::TxDiscards),
    ("link_xoff_rx.nic", Counter::RxPauses),
    ("link_xoff_tx.nic", Counter::TxPauses),
    // bnxt.
    ("rx_good_frames", Counter::RxGood),
    ("tx_good_frames", Counter::TxGood),
    ("rx_fcs_err_frames", Counter::RxCrc),
    ("rx_pcs_symbol_err", Counter::RxSymbol),
    ("rx_ovrsz_frames", Counter::RxLength),
    ("rx_undrsz_frames", Counter::RxLength),
    ("rx_pfc_frames", Counter::RxPauses),
    ("tx_pfc_frames", Counter::TxPauses),
    ("rx_fec_corrected_blocks", Counter::FecCorrected),
    ("rx_fec_uncorrectable_blocks", Counter::FecUncorrectable),
];

/// IEEE 802.3, clause 30.
const IEEE: &[(&str, Counter)] = &[
    ("FramesReceivedOK", Counter::RxGood),
    ("FramesTransmittedOK", Counter::TxGood),
    ("FrameCheckSequenceErrors", Counter::RxCrc),
    ("SymbolErrorDuringCarrier", Counter::RxSymbol),
    ("InRangeLengthErrors", Counter::RxLength),
    ("OutOfRangeLengthField", Counter::RxLength),
    ("FrameTooLongErrors", Counter::RxLength),
    ("FECCorrectedBlocks", Counter::FecCorrected),
    ("FECUncorrectableBlocks", Counter::FecUncorrectable),
];

/// Further names of the kernel's standard statistics. MAC control frames are pause and PFC frames. Oversize
/// frames of RMON are longer than 1518 bytes: jumbo frames are among them.
const STANDARD: &[(&str, Counter)] = &[
    ("etherStatsUndersizePkts", Counter::RxLength),
    ("MACControlFramesReceived", Counter::RxPauses),
    ("MACControlFramesTransmitted", Counter::TxPauses),
    ("corrected_blocks", Counter::FecCorrected),
    ("uncorrectable_blocks", Counter::FecUncorrectable),
    ("corrected_bits", Counter::FecCorrectedBits),
];

const RDMA: &[(&str, Counter)] = &[
    // mlx5.
    ("out_of_sequence", Counter::OutOfSequence),
    ("packet_seq_err", Counter::SequenceNaks),
    ("implied_nak_seq_err", Counter::ImpliedNaks),
    ("local_ack_timeout_err", Counter::AckTimeouts),
    ("duplicate_request", Counter::Duplicates),
    ("out_of_buffer", Counter::OutOfBuffer),
    ("rnr_nak_retry_err", Counter::RnrNaks),
    ("req_transport_retries_exceeded", Counter::RetriesExceeded),
    ("rx_icrc_encapsulated", Counter::RxIcrc),
    ("np_ecn_marked_roce_packets", Counter::EcnMarked),
    ("rp_cnp_handled", Counter::CnpHandled),
    // The kernel's software RoCE (rxe).
    ("out_of_seq_request", Counter::OutOfSequence),
    ("rcvd_seq_err", Counter::SequenceNaks),
    ("completer_retry_err", Counter::AckTimeouts),
    ("send_rnr_err", Counter::OutOfBuffer),
    ("rcvd_rnr_err", Counter::RnrNaks),
    ("retry_exceeded_err", Counter::RetriesExceeded),
];

/// SAI has no counter of all frames. Good frames are unicast and non-unicast. Errors include frames of
/// illegal length, which a wrong MTU causes and not a bad cable: they are subtracted.
pub(super) const SWITCH: &[(&str, Counter)] = &[
    ("SAI_PORT_STAT_IF_IN_UCAST_PKTS", Counter::RxGood),
    ("SAI_PORT_STAT_IF_IN_NON_UCAST_PKTS", Counter::RxGood),
    ("SAI_PORT_STAT_IF_OUT_UCAST_PKTS", Counter::TxGood),
    ("SAI_PORT_STAT_IF_OUT_NON_UCAST_PKTS", Counter::TxGood),
    ("SAI_PORT_STAT_IF_IN_ERRORS", Counter::RxErrors),
    ("SAI_PORT_STAT_ETHER_RX_OVERSIZE_PKTS", Counter::RxLength),
    ("SAI_PORT_STAT_ETHER_STATS_UNDERSIZE_PKTS", Counter::RxLength),
    ("SAI_PORT_STAT_IF_IN_DISCARDS", Counter::RxDiscards),
    ("SAI_PORT_STAT_IF_OUT_DISCARDS", Counter::TxDiscards),
    ("SAI_PORT_STAT_PAUSE_RX_PKTS", Counter::RxPauses),
    ("SAI_PORT_STAT_PAUSE_TX_PKTS", Counter::TxPauses),
    ("SAI_PORT_STAT_PFC_0_RX_PKTS", Counter::RxPauses),
    ("SAI_PORT_STAT_PFC_1_RX_PKTS", Counter::RxPauses),
    ("SAI_PORT_STAT_PFC_2_RX_PKTS", Counter::RxPauses),
    ("SAI_PORT_STAT_PFC_3_RX_PKTS", Counter::RxPauses),
    ("SAI_PORT_STAT_PFC_4_RX_PKTS", Counter::RxPauses),
    ("SAI_PORT_STAT_PFC_5_RX_PKTS", Counter::RxPauses),
    ("SAI_PORT_STAT_PFC_6_RX_PKTS", Counter::RxPauses),
    ("SAI_PORT_STAT_PFC_7_RX_PKTS", Counter::RxPauses),
    ("SAI_PORT_STAT_PFC_0_TX_PKTS", Counter::TxPauses),
    ("SAI_PORT_STAT_PFC_1_TX_PKTS", Counter::TxPauses),
    ("SAI_PORT_STAT_PFC_2_TX_PKTS", Counter::TxPauses),
    ("SAI_PORT_STAT_PFC_3_TX_PKTS", Counter::TxPauses),
    ("SAI_PORT_STAT_PFC_4_TX_PKTS", Counter::TxPauses),
    ("SAI_PORT_STAT_PFC_5_TX_PKTS", Counter::TxPauses),
    ("SAI_PORT_STAT_PFC_6_TX_PKTS", Counter::TxPauses),
    ("SAI_PORT_STAT_PFC_7_TX_PKTS", Counter::TxPauses),
    ("SAI_PORT_STAT_IF_IN_FEC_CORRECTABLE_FRAMES", Counter::FecCorrected),
    ("SAI_PORT_STAT_IF_IN_FEC_NOT_CORRECTABLE_FRAMES", Counter::FecUncorrectable),
    ("SAI_PORT_STAT_IF_IN_FEC_SYMBOL_ERRORS", Counter::RxSymbol),
    ("SAI_PORT_STAT_IF_IN_FEC_CORRECTED_BITS", Counter::FecCorrectedBits),
    ("SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S0", Counter::FecSymbols0),
    ("SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S1", Counter::FecSymbols1),
    ("SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S2", Counter::FecSymbols2),
    ("SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S3", Counter::FecSymbols3),
    ("SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S4", Counter::FecSymbols4),
    ("SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S5", Counter::FecSymbols5),
    ("SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S6", Counter::FecSymbols6),
    ("SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S7", Counter::FecSymbols7),
    ("SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S8", Counter::FecSymbols8),
    ("SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S9", Counter::FecSymbols9),
    ("SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S10", Counter::FecSymbols10),
    ("SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S11", Counter::FecSymbols11),
    ("SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S12", Counter::FecSymbols12),
    ("SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S13", Counter::FecSymbols13),
    ("SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S14", Counter::FecSymbols14),
    ("SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S15", Counter::FecSymbols15),
    ("SAI_PORT_STAT_LLR_RX_BAD", Counter::LlrCorrupted),
    ("SAI_PORT_STAT_LLR_TX_REPLAY", Counter::LlrReplays),
];

/// The collector `netdev` has two sets of names: by default those of `/proc/net/dev`, without CRC errors, else
/// (`--collector.netdev.enable-detailed-metrics`) those of the kernel.
const NODE_EXPORTER: &[(&str, Counter)] = &[
    ("node_network_receive_packets_total", Counter::RxGood),
    ("node_network_transmit_packets_total", Counter::TxGood),
    ("node_network_receive_errs_total", Counter::RxErrors),
    ("node_network_transmit_drop_total", Counter::TxDiscards),
    ("node_network_receive_errors_total", Counter::RxErrors),
    ("node_network_receive_crc_errors_total", Counter::RxCrc),
    ("node_network_receive_length_errors_total", Counter::RxLength),
    ("node_network_receive_missed_errors_total", Counter::RxDiscards),
    ("node_network_transmit_dropped_total", Counter::TxDiscards),
];

/// The model has `in-pkts` too, which contains bad frames on some devices and not on others.
const OPENCONFIG_INTERFACE: &[(&str, Counter)] = &[
    ("in-unicast-pkts", Counter::RxGood),
    ("in-multicast-pkts", Counter::RxGood),
    ("in-broadcast-pkts", Counter::RxGood),
    ("out-unicast-pkts", Counter::TxGood),
    ("out-multicast-pkts", Counter::TxGood),
    ("out-broadcast-pkts", Counter::TxGood),
    ("in-fcs-errors", Counter::RxCrc),
    ("in-errors", Counter::RxErrors),
    ("in-discards", Counter::RxDiscards),
    ("out-discards", Counter::TxDiscards),
];

const OPENCONFIG_ETHERNET: &[(&str, Counter)] = &[
    ("in-crc-errors", Counter::RxCrc),
    ("in-symbol-error", Counter::RxSymbol),
    ("in-oversize-frames", Counter::RxLength),
    ("in-undersize-frames", Counter::RxLength),
    ("in-mac-pause-frames", Counter::RxPauses),
    ("out-mac-pause-frames", Counter::TxPauses),
];

const OPENCONFIG_TRANSCEIVER: &[(&str, Counter)] = &[
    ("fec-uncorrectable-blocks", Counter::FecUncorrectable),
    ("fec-corrected-bits", Counter::FecCorrectedBits),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        for group in [
            CounterGroup::Interface,
            CounterGroup::Driver,
            CounterGroup::Standard,
            CounterGroup::Rdma,
            CounterGroup::Switch,
            CounterGroup::NodeExporter,
            CounterGroup::OpenConfigInterface,
            CounterGroup::OpenConfigEthernet,
            CounterGroup::OpenConfigTransceiver,
        ] {
            let names: Vec<&str> = group.names().map(|(name, _)| name).collect();
            for (at, name) in names.iter().enumerate() {
                assert!(!names[..at].contains(name), "{name}");
            }
        }
    }

    #[test]
    fn vendor_names_map_to_the_same_counter() {
        assert_eq!(counter_for_name(CounterGroup::Driver, "rx_crc_errors_phy"), Some(Counter::RxCrc));
        assert_eq!(counter_for_name(CounterGroup::Driver, "rx_fcs_err_frames"), Some(Counter::RxCrc));
        assert_eq!(counter_for_name(CounterGroup::Driver, "rx_crc_errors.nic"), Some(Counter::RxCrc));
        assert_eq!(counter_for_name(CounterGroup::Interface, "rx_crc_errors_phy"), None);
    }
}
