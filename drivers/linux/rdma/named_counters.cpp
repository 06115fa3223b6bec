#include "drivers/linux/rdma/named_counters.hpp"

#include <net/if.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "drivers/linux/ethtool/driver_statistics.hpp"
#include "drivers/linux/rdma/counter_names.hpp"
#include "drivers/linux/rdma/queue_counters.hpp"

namespace lockstep::rdma {
namespace {

// Files of ports/N/hw_counters and ports/N/counters; the sources are those of counter_names.hpp.
constexpr NamedNative kRdmaNames[] = {
    // mlx5, and bnxt_re where it has taken mlx5's names
    {"rdma_rx_bytes", "rdma/rx-bytes"},
    {"rdma_tx_bytes", "rdma/tx-bytes"},
    {"rdma_rx_packets", "rdma/rx-packets"},
    {"rdma_tx_packets", "rdma/tx-packets"},
    {"np_ecn_marked_roce_packets", "rdma/ecn-marked-packets"},
    {"np_cnp_sent", "rdma/tx-cnps"},
    {"rp_cnp_handled", "rdma/rx-cnps"},
    {"rp_cnp_ignored", "rdma/ignored-cnps"},
    {"roce_slow_restart", "rdma/slow-restarts"},
    {"roce_adp_retrans", "rdma/adaptive-retransmits"},
    {"roce_adp_retrans_to", "rdma/adaptive-timeouts"},
    {"out_of_buffer", "rdma/receive-not-posted"},
    {"rnr_nak_retry_err", "rdma/peer-not-ready"},
    {"req_rnr_retries_exceeded", "rdma/peer-never-ready"},
    {"out_of_sequence", "rdma/out-of-sequence"},
    {"packet_seq_err", "rdma/sequence-naks"},
    {"implied_nak_seq_err", "rdma/implied-naks"},
    {"duplicate_request", "rdma/duplicate-requests"},
    {"local_ack_timeout_err", "rdma/ack-timeouts"},
    {"req_transport_retries_exceeded", "rdma/retries-exhausted"},
    {"rx_icrc_encapsulated", "rdma/icrc-errors"},
    // bnxt_re
    {"rx_bytes", "rdma/rx-bytes"},
    {"tx_bytes", "rdma/tx-bytes"},
    {"rx_pkts", "rdma/rx-packets"},
    {"tx_pkts", "rdma/tx-packets"},
    {"rx_ecn_marked_pkts", "rdma/ecn-marked-packets"},
    {"tx_cnp_pkts", "rdma/tx-cnps"},
    {"np_cnp_pkts", "rdma/tx-cnps"},
    {"rx_cnp_pkts", "rdma/rx-cnps"},
    {"rx_roce_discards", "rdma/rx-discards"},
    {"rx_roce_errors", "rdma/rx-errors"},
    {"to_retransmits", "rdma/ack-timeouts"},
    {"seq_err_naks_rcvd", "rdma/sequence-naks"},
    {"oos_drop_count", "rdma/out-of-sequence"},
    {"max_retry_exceeded", "rdma/retries-exhausted"},
    {"rnr_naks_rcvd", "rdma/peer-not-ready"},
    {"dup_req", "rdma/duplicate-requests"},
    // irdma
    {"RxECNMrkd", "rdma/ecn-marked-packets"},
    {"cnpSent", "rdma/tx-cnps"},
    {"cnpHandled", "rdma/rx-cnps"},
    {"cnpIgnored", "rdma/ignored-cnps"},
    // ionic
    {"rx_rdma_ecn_pkts", "rdma/ecn-marked-packets"},
    {"tx_rdma_cnp_pkts", "rdma/tx-cnps"},
    {"rx_rdma_cnp_pkts", "rdma/rx-cnps"},
    {"resp_rx_outof_buf", "rdma/receive-not-posted"},
    {"req_rx_rnr_retry_err", "rdma/peer-not-ready"},
    {"resp_rx_outouf_seq", "rdma/out-of-sequence"},
    {"req_rx_pkt_seq_err", "rdma/sequence-naks"},
    {"req_rx_impl_nak_seq_err", "rdma/implied-naks"},
    {"resp_rx_dup_request", "rdma/duplicate-requests"},
    {"tx_rdma_ack_timeout", "rdma/ack-timeouts"},
    {"tx_rdma_retx_pkts", "rdma/retransmits"},
    {"req_tx_retry_excd_err", "rdma/retries-exhausted"},
    // EFA
    {"rx_drops", "rdma/rx-discards"},
    {"retrans_pkts", "rdma/retransmits"},
    {"retrans_timeout_events", "rdma/ack-timeouts"},
    {"impaired_remote_conn_events", "rdma/impaired-peers"},
    {"unresponsive_remote_events", "rdma/silent-peers"},
    // rxe
    {"rcvd_pkts", "rdma/rx-packets"},
    {"sent_pkts", "rdma/tx-packets"},
    {"out_of_seq_request", "rdma/out-of-sequence"},
    {"rcvd_seq_err", "rdma/sequence-naks"},
    {"rcvd_rnr_err", "rdma/peer-not-ready"},
    {"send_rnr_err", "rdma/receive-not-posted"},
    {"retry_exceeded_err", "rdma/retries-exhausted"},
    {"retry_rnr_exceeded_err", "rdma/peer-never-ready"},
    {"send_err", "rdma/tx-errors"},
    // IBTA: of RDMA only, where the link is Ethernet
    {"port_rcv_data", "rdma/rx-bytes"},
    {"port_xmit_data", "rdma/tx-bytes"},
    {"port_rcv_packets", "rdma/rx-packets"},
    {"port_xmit_packets", "rdma/tx-packets"},
    {"port_rcv_errors", "rdma/rx-errors"},
    {"link_downed", "port/link-downs"},
    {"link_error_recovery", "port/link-recoveries"},
};

// Driver statistics (ethtool -S) and queue_counters.hpp. mlx5: ethernet/mellanox/mlx5/counters.rst, whose
// outbound_pci_stalled_* are percentages. bnxt_en: bnxt_ethtool.c. ionic: ionic_stats.c.
constexpr NamedNative kPortNames[] = {
    // mlx5
    {"rx_bytes_phy", "port/rx-bytes"},
    {"tx_bytes_phy", "port/tx-bytes"},
    {"rx_packets_phy", "port/rx-packets"},
    {"tx_packets_phy", "port/tx-packets"},
    {"rx_discards_phy", "port/rx-discards"},
    {"tx_discards_phy", "port/tx-discards"},
    {"tx_errors_phy", "port/tx-errors"},
    {"rx_crc_errors_phy", "port/rx-crc-errors"},
    {"rx_oversize_pkts_phy", "port/rx-oversize"},
    {"link_down_events_phy", "port/link-downs"},
    {"rx_pcs_symbol_err_phy", "port/symbol-errors"},
    {"rx_corrected_bits_phy", "port/fec/corrected-bits"},
    {"rx_prio#_packets", "port/priority[#]/rx-packets"},
    {"tx_prio#_packets", "port/priority[#]/tx-packets"},
    {"rx_prio#_discards", "port/priority[#]/rx-discards"},
    {"rx_prio#_pause", "port/pfc[#]/rx-pauses"},
    {"tx_prio#_pause", "port/pfc[#]/tx-pauses"},
    {"rx_prio#_pause_duration", "port/pfc[#]/rx-paused-time"},
    {"tx_prio#_pause_duration", "port/pfc[#]/tx-paused-time"},
    {"rx_prio#_pause_transition", "port/pfc[#]/rx-pause-transitions"},
    {"tx_pause_storm_warning_events", "port/pfc/storm-warnings"},
    {"tx_pause_storm_error_events", "port/pfc/storm-errors"},
    {"rx_out_of_buffer", "host/rx-out-of-buffer"},
    {"outbound_pci_stalled_wr", "host/pcie-write-stalls"},
    {"outbound_pci_stalled_rd", "host/pcie-read-stalls"},
    {"outbound_pci_buffer_overflow", "host/pcie-buffer-overflows"},
    {"rx_pci_signal_integrity", "host/pcie-rx-errors"},
    {"tx_pci_signal_integrity", "host/pcie-tx-errors"},
    // bnxt_en
    {"rx_pfc_ena_frames_pri#", "port/pfc[#]/rx-pauses"},
    {"tx_pfc_ena_frames_pri#", "port/pfc[#]/tx-pauses"},
    // ionic
    {"frames_rx_pripause", "port/pfc/rx-pauses"},
    {"frames_tx_pripause", "port/pfc/tx-pauses"},
    // queues of the kernel
    {"qdisc_marked", "port/ecn-marked-packets"},
    {"qdisc_dropped", "port/queue-drops"},
};

// The number in place of '#', empty for a native without; none: it is not this native.
std::optional<std::string_view> number_of_native(std::string_view pattern, std::string_view native) {
  const std::size_t at = pattern.find('#');
  if (at == pattern.npos) return pattern == native ? std::optional(std::string_view()) : std::nullopt;
  const std::string_view after = pattern.substr(at + 1);
  if (native.size() <= at + after.size() || !native.starts_with(pattern.substr(0, at)) ||
      !native.ends_with(after))
    return std::nullopt;
  const std::string_view number = native.substr(at, native.size() - at - after.size());
  if (number.find_first_not_of("0123456789") != number.npos) return std::nullopt;
  return number;
}

}  // namespace

std::span<const NamedNative> named_rdma_counters() { return kRdmaNames; }
std::span<const NamedNative> named_port_statistics() { return kPortNames; }

void name_counters(const std::map<std::string, std::uint64_t>& values, std::span<const NamedNative> names,
                   const std::string& port, CounterReading& out) {
  for (const NamedNative& named : names) {
    const CounterRow* const row = find_counter(named.counter);
    if (row == nullptr) continue;  // a test finds such rows
    for (const auto& [native, value] : values) {
      const auto number = number_of_native(named.native, native);
      if (!number) continue;
      const bool in_words = std::ranges::find(kCountedInWords, native) != std::end(kCountedInWords);
      const std::uint64_t counted = in_words ? value * 4 : value;
      const CounterNumber shown = row->kind == CounterKind::gauge
                                      ? CounterNumber(static_cast<double>(counted))
                                      : CounterNumber(counted);
      // The first stays.
      out.counters.emplace(CounterId{port, counter_name(named.counter, *number)},
                           ReadCounter{row, shown, native, {}, kNoCounterGroup});
    }
  }
}

Result<Done> read_named_counters(const HostFiles& files, const CountingPort& port, const Call& call,
                                 CounterReading& out) {
  const std::string name = port.name();
  if (!port.device.empty()) {
    TRY(const CounterSnapshot rdma, read_counters(files, port.device, port.port));
    name_counters(rdma.values, kRdmaNames, name, out);
    out.objects[CounterId{name, "rdma"}].object = port.device;
  }
  if (!port.netdev.empty()) {
    if (::if_nametoindex(port.netdev.c_str()) == 0)
      return Error{ErrorKind::unsupported, port.netdev + ": there is no such port"};
    CounterSnapshot statistics;
    read_queues(port.netdev, call, statistics);
    auto told = driver_statistics(port.netdev);
    if (!told && told.error().kind != ErrorKind::unsupported) return std::move(told.error());
    if (told) statistics.values.merge(*told);
    name_counters(statistics.values, kPortNames, name, out);
    out.objects[CounterId{name, "port"}].object = port.netdev;
  }
  out.at = std::chrono::system_clock::now();
  out.moment = std::chrono::steady_clock::now();
  return Done{};
}

}  // namespace lockstep::rdma
