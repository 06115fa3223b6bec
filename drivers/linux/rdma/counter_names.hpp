// The drivers' counter names: data for counters.cpp, one row per name. '#' matches a number (an 802.1p
// priority, a lane).
//
// Sources, by driver. mlx5: drivers/infiniband/hw/mlx5/counters.c and ethernet/mellanox/mlx5/counters.rst.
// bnxt_re: drivers/infiniband/hw/bnxt_re/hw_counters.c, whose newer versions take mlx5's names;
// bnxt_ethtool.c. irdma: drivers/infiniband/hw/irdma/verbs.c (irdma_hw_stat_names). ionic: its firmware gives
// the names, so those that rccl-tests reads (ROCm/rccl-tests, net counters). EFA:
// drivers/infiniband/hw/efa/efa_verbs.c and AWS, "Monitor an Elastic Fabric Adapter". rxe:
// drivers/infiniband/sw/rxe/rxe_hw_counters.c. IBTA: 16.1.3.5 PortCounters, as
// drivers/infiniband/core/sysfs.c shows them.
#pragma once

#include <string_view>

#include "drivers/linux/rdma/counters.hpp"

namespace lockstep::rdma {

struct CounterName {
  std::string_view name;
  Signal signal;
};

inline constexpr CounterName kCounterNames[] = {
    // IBTA, all drivers that have ports/N/counters
    {"port_xmit_data", Signal::bytes_sent},
    {"port_rcv_data", Signal::bytes_received},
    {"port_xmit_packets", Signal::packets_sent},
    {"port_rcv_packets", Signal::packets_received},
    {"port_rcv_errors", Signal::receive_errors},
    {"port_xmit_discards", Signal::discarded_here},
    {"symbol_error", Signal::symbol_errors},
    {"local_link_integrity_errors", Signal::symbol_errors},
    {"excessive_buffer_overrun_errors", Signal::discarded_here},
    {"link_downed", Signal::link_downs},  // and rxe
    {"link_error_recovery", Signal::link_downs},
    // mlx5
    {"rdma_tx_bytes", Signal::bytes_sent},
    {"rdma_rx_bytes", Signal::bytes_received},
    {"rdma_tx_packets", Signal::packets_sent},
    {"rdma_rx_packets", Signal::packets_received},
    {"np_ecn_marked_roce_packets", Signal::ecn_marked_received},
    {"cc_rx_ce_pkts", Signal::ecn_marked_received},
    {"np_cnp_sent", Signal::cnps_sent},
    {"cc_tx_cnp_pkts", Signal::cnps_sent},
    {"rp_cnp_handled", Signal::cnps_handled},
    {"cc_rx_cnp_pkts", Signal::cnps_handled},
    {"rp_cnp_ignored", Signal::cnps_ignored},
    {"roce_slow_restart", Signal::slow_restarts},
    {"out_of_buffer", Signal::receive_not_posted},
    {"rnr_nak_retry_err", Signal::peer_not_ready},
    {"req_rnr_retries_exceeded", Signal::peer_never_ready},
    {"out_of_sequence", Signal::out_of_sequence},
    {"packet_seq_err", Signal::sequence_naks_received},
    {"implied_nak_seq_err", Signal::sequence_naks_received},
    {"duplicate_request", Signal::duplicates_received},  // and rxe
    {"local_ack_timeout_err", Signal::ack_timeouts},
    {"roce_adp_retrans", Signal::retransmits},
    {"roce_adp_retrans_to", Signal::ack_timeouts},
    {"req_transport_retries_exceeded", Signal::retries_exhausted},
    {"rx_icrc_encapsulated", Signal::corrupt_received},
    // mlx5, ethtool
    {"tx_prio#_packets", Signal::packets_sent},
    {"rx_prio#_packets", Signal::packets_received},
    {"rx_prio#_pause", Signal::paused_by_peer},
    {"tx_prio#_pause", Signal::pauses_sent},
    {"tx_pause_storm_warning_events", Signal::pause_storms},
    {"tx_pause_storm_error_events", Signal::pause_storms},
    {"rx_discards_phy", Signal::discarded_here},
    {"rx_prio#_discards", Signal::discarded_here},
    {"rx_out_of_buffer", Signal::receive_not_posted},  // and bnxt_re
    {"rx_pcs_symbol_err_phy", Signal::symbol_errors},
    {"rx_symbol_err_phy", Signal::symbol_errors},
    {"rx_crc_errors_phy", Signal::corrupt_received},
    {"link_down_events_phy", Signal::link_downs},
    {"outbound_pci_stalled_wr", Signal::pcie_stalls},
    {"outbound_pci_stalled_rd", Signal::pcie_stalls},
    {"outbound_pci_buffer_overflow", Signal::pcie_stalls},
    {"rx_pci_signal_integrity", Signal::pcie_stalls},
    {"tx_pci_signal_integrity", Signal::pcie_stalls},
    // bnxt_re; byte and packet names are EFA's too
    {"tx_bytes", Signal::bytes_sent},
    {"rx_bytes", Signal::bytes_received},
    {"tx_pkts", Signal::packets_sent},
    {"rx_pkts", Signal::packets_received},
    {"rx_ecn_marked_pkts", Signal::ecn_marked_received},
    {"tx_cnp_pkts", Signal::cnps_sent},
    {"np_cnp_pkts", Signal::cnps_sent},
    {"rx_cnp_pkts", Signal::cnps_handled},
    {"rx_roce_discards", Signal::discarded_here},
    {"rx_roce_errors", Signal::receive_errors},
    {"to_retransmits", Signal::ack_timeouts},
    {"seq_err_naks_rcvd", Signal::sequence_naks_received},
    {"oos_drop_count", Signal::out_of_sequence},
    {"max_retry_exceeded", Signal::retries_exhausted},
    {"rnr_naks_rcvd", Signal::peer_not_ready},
    {"missing_resp", Signal::retransmits},
    {"dup_req", Signal::duplicates_received},
    {"res_tx_pci_err", Signal::pcie_stalls},
    {"res_rx_pci_err", Signal::pcie_stalls},
    {"rx_pfc_ena_frames_pri#", Signal::paused_by_peer},
    {"tx_pfc_ena_frames_pri#", Signal::pauses_sent},
    // irdma
    {"RxECNMrkd", Signal::ecn_marked_received},
    {"cnpSent", Signal::cnps_sent},
    {"cnpHandled", Signal::cnps_handled},
    {"cnpIgnored", Signal::cnps_ignored},
    {"ip4InDiscards", Signal::discarded_here},
    {"ip6InDiscards", Signal::discarded_here},
    {"ip4OutOctets", Signal::bytes_sent},
    {"ip4InOctets", Signal::bytes_received},
    {"ip4OutPkts", Signal::packets_sent},
    {"ip4InPkts", Signal::packets_received},
    // ionic
    {"tx_rdma_ucast_bytes", Signal::bytes_sent},
    {"rx_rdma_ucast_bytes", Signal::bytes_received},
    {"tx_rdma_ucast_pkts", Signal::packets_sent},
    {"rx_rdma_ucast_pkts", Signal::packets_received},
    {"rx_rdma_ecn_pkts", Signal::ecn_marked_received},
    {"tx_rdma_cnp_pkts", Signal::cnps_sent},
    {"rx_rdma_cnp_pkts", Signal::cnps_handled},
    {"rx_rdma_mtu_discard_pkts", Signal::discarded_here},
    {"resp_rx_outof_buf", Signal::receive_not_posted},
    {"req_rx_rnr_retry_err", Signal::peer_not_ready},
    {"resp_rx_outouf_seq", Signal::out_of_sequence},
    {"req_rx_pkt_seq_err", Signal::sequence_naks_received},
    {"req_rx_impl_nak_seq_err", Signal::sequence_naks_received},
    {"resp_rx_dup_request", Signal::duplicates_received},
    {"tx_rdma_ack_timeout", Signal::ack_timeouts},
    {"tx_rdma_retx_pkts", Signal::retransmits},
    {"req_tx_retry_excd_err", Signal::retries_exhausted},
    {"frames_rx_pripause", Signal::paused_by_peer},
    {"frames_tx_pripause", Signal::pauses_sent},
    {"frames_rx_pripause#", Signal::paused_by_peer},
    {"frames_tx_pripause#", Signal::pauses_sent},
    // EFA
    {"rx_drops", Signal::discarded_here},
    {"retrans_pkts", Signal::retransmits},
    {"retrans_timeout_events", Signal::ack_timeouts},
    {"impaired_remote_conn_events", Signal::peer_impaired},
    {"unresponsive_remote_events", Signal::peer_impaired},
    // rxe
    {"sent_pkts", Signal::packets_sent},
    {"rcvd_pkts", Signal::packets_received},
    {"out_of_seq_request", Signal::out_of_sequence},
    {"rcvd_seq_err", Signal::sequence_naks_received},
    {"rcvd_rnr_err", Signal::peer_not_ready},
    {"send_rnr_err", Signal::receive_not_posted},
    {"completer_retry_err", Signal::retransmits},
    {"retry_exceeded_err", Signal::retries_exhausted},
    {"retry_rnr_exceeded_err", Signal::peer_never_ready},
    {"send_err", Signal::send_errors},
    // the port's queues (queue_counters.hpp)
    {"qdisc_marked", Signal::ecn_marked_here},
    {"qdisc_dropped", Signal::discarded_here},
};

// Files beside the counters that are not counters: a setting, and a gauge.
inline constexpr std::string_view kNoCounters[] = {"lifespan"};
inline constexpr std::string_view kGaugePrefix = "active_";  // bnxt_re: active_qps

// IBTA PortCountersExtended: counted in units of 4 bytes.
inline constexpr std::string_view kCountedInWords[] = {"port_xmit_data", "port_rcv_data"};

}  // namespace lockstep::rdma
