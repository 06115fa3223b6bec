#include "specs/model/counters.hpp"

#include <algorithm>
#include <map>

namespace lockstep {
namespace {

using Unit = CounterUnit;
using Kind = CounterKind;

constexpr CounterRow kRows[] = {
    // Ports of switches and NICs
    {"port/rx-bytes", Unit::bytes, Kind::count, "bytes received"},
    {"port/tx-bytes", Unit::bytes, Kind::count, "bytes sent"},
    {"port/rx-packets", Unit::packets, Kind::count, "packets received"},
    {"port/tx-packets", Unit::packets, Kind::count, "packets sent"},
    {"port/rx-unicast-packets", Unit::packets, Kind::count, "unicast packets received"},
    {"port/tx-unicast-packets", Unit::packets, Kind::count, "unicast packets sent"},
    {"port/rx-discards", Unit::packets, Kind::count,
     "intact packets dropped on arrival (ifInDiscards, RFC 2863)"},
    {"port/tx-discards", Unit::packets, Kind::count,
     "intact packets dropped before sending (ifOutDiscards, RFC 2863)"},
    {"port/rx-errors", Unit::packets, Kind::count, "packets received with errors"},
    {"port/tx-errors", Unit::packets, Kind::count, "packets that could not be sent because of errors"},
    {"port/rx-crc-errors", Unit::frames, Kind::count, "frames received with a wrong checksum (FCS)"},
    {"port/rx-oversize", Unit::frames, Kind::count, "frames received that are longer than the MTU"},
    {"port/rx-buffer-drops", Unit::packets, Kind::count, "packets dropped at ingress: buffer full"},
    {"port/tx-buffer-drops", Unit::packets, Kind::count, "packets dropped at egress: buffer full"},
    {"port/queue-drops", Unit::packets, Kind::count, "packets that a host's port queues dropped"},
    {"port/ecn-marked-packets", Unit::packets, Kind::count, "packets that the port's queues marked (CE)"},
    {"port/trimmed-packets", Unit::packets, Kind::count, "packets cut to their headers instead of dropped"},
    {"port/wred-drops", Unit::packets, Kind::count, "packets that WRED dropped"},
    {"port/wred-drops-green", Unit::packets, Kind::count, "green packets that WRED dropped"},
    {"port/wred-drops-yellow", Unit::packets, Kind::count, "yellow packets that WRED dropped"},
    {"port/wred-drops-red", Unit::packets, Kind::count, "red packets that WRED dropped"},
    {"port/link-downs", Unit::events, Kind::count, "times that the link went down"},
    {"port/link-recoveries", Unit::events, Kind::count, "times that the link retrained by itself"},
    {"port/symbol-errors", Unit::symbols, Kind::count, "symbols received wrong that FEC did not correct"},
    {"port/rx-bytes-per-second", Unit::bytes_per_second, Kind::gauge, "bytes received, smoothed"},
    {"port/tx-bytes-per-second", Unit::bytes_per_second, Kind::gauge, "bytes sent, smoothed"},
    {"port/rx-packets-per-second", Unit::packets_per_second, Kind::gauge, "packets received, smoothed"},
    {"port/tx-packets-per-second", Unit::packets_per_second, Kind::gauge, "packets sent, smoothed"},
    // Priorities of a port (802.1p, PFC)
    {"port/priority[#]/rx-packets", Unit::packets, Kind::count, "packets received of this priority"},
    {"port/priority[#]/tx-packets", Unit::packets, Kind::count, "packets sent of this priority"},
    {"port/priority[#]/rx-discards", Unit::packets, Kind::count, "packets not received: no buffer"},
    {"port/pfc[#]/rx-pauses", Unit::frames, Kind::count, "PFC frames received: the peer pauses this port"},
    {"port/pfc[#]/tx-pauses", Unit::frames, Kind::count, "PFC frames sent: this port pauses the peer"},
    {"port/pfc[#]/rx-paused-time", Unit::microseconds, Kind::count, "time that the peer paused this port"},
    {"port/pfc[#]/tx-paused-time", Unit::microseconds, Kind::count, "time that this port paused the peer"},
    {"port/pfc[#]/rx-pause-transitions", Unit::events, Kind::count, "times that the peer ended a pause"},
    {"port/pfc[#]/rx-paused-time-estimated", Unit::microseconds, Kind::count,
     "time that the peer paused this port, estimated from samples"},
    {"port/pfc[#]/rx-pause-transitions-estimated", Unit::events, Kind::count,
     "times that the peer ended a pause, estimated from samples"},
    {"port/pfc/rx-pauses", Unit::frames, Kind::count, "PFC frames received of all priorities"},
    {"port/pfc/tx-pauses", Unit::frames, Kind::count, "PFC frames sent of all priorities"},
    {"port/pfc/storm-warnings", Unit::events, Kind::count, "times that this NIC paused the peer for long"},
    {"port/pfc/storm-errors", Unit::events, Kind::count, "times that this NIC stopped pausing: a storm"},
    // Forward error correction of a link
    {"port/fec/correctable", Unit::codewords, Kind::count, "codewords received with errors, all corrected"},
    {"port/fec/uncorrectable", Unit::codewords, Kind::count, "codewords received that FEC could not correct"},
    {"port/fec/symbol-errors", Unit::symbols, Kind::count, "symbols received wrong, as FEC reports them"},
    {"port/fec/corrected-bits", Unit::bits, Kind::count, "bits that FEC corrected; never 0 with PAM4"},
    {"port/fec/codewords[#]", Unit::codewords, Kind::count, "codewords received with # wrong symbols"},
    {"port/fec/pre-ber", Unit::ratio, Kind::gauge, "bit error ratio before FEC"},
    {"port/fec/post-ber", Unit::ratio, Kind::gauge, "bit error ratio after FEC"},
    {"port/fec/frame-loss", Unit::ratio, Kind::gauge, "ratio of frames that are lost"},
    {"port/fec/frame-loss-predicted", Unit::ratio, Kind::gauge, "ratio of frames lost, extrapolated"},
    // RDMA of a NIC
    {"rdma/rx-bytes", Unit::bytes, Kind::count, "RDMA bytes received"},
    {"rdma/tx-bytes", Unit::bytes, Kind::count, "RDMA bytes sent"},
    {"rdma/rx-packets", Unit::packets, Kind::count, "RDMA packets received"},
    {"rdma/tx-packets", Unit::packets, Kind::count, "RDMA packets sent"},
    {"rdma/rx-errors", Unit::packets, Kind::count, "RDMA packets received with errors"},
    {"rdma/rx-discards", Unit::packets, Kind::count, "RDMA packets that were discarded when they arrived"},
    {"rdma/tx-errors", Unit::packets, Kind::count, "RDMA packets that could not be sent"},
    {"rdma/icrc-errors", Unit::packets, Kind::count, "RDMA packets received with a wrong checksum (ICRC)"},
    {"rdma/ecn-marked-packets", Unit::packets, Kind::count, "packets received with CE marks"},
    {"rdma/tx-cnps", Unit::packets, Kind::count, "CNPs sent: senders to this NIC were told to slow down"},
    {"rdma/rx-cnps", Unit::packets, Kind::count, "CNPs received and obeyed"},
    {"rdma/ignored-cnps", Unit::packets, Kind::count, "CNPs received and ignored"},
    {"rdma/slow-restarts", Unit::events, Kind::count, "flows that began again slowly after a pause"},
    {"rdma/receive-not-posted", Unit::events, Kind::count, "messages without a posted receive here"},
    {"rdma/peer-not-ready", Unit::events, Kind::count, "messages without a posted receive at the peer"},
    {"rdma/peer-never-ready", Unit::events, Kind::count, "connections broken: no receive at the peer"},
    {"rdma/out-of-sequence", Unit::packets, Kind::count, "packets received out of sequence"},
    {"rdma/sequence-naks", Unit::events, Kind::count,
     "reports of peers that packets of this NIC are missing"},
    {"rdma/implied-naks", Unit::events, Kind::count, "missing packets seen from later acknowledgements"},
    {"rdma/duplicate-requests", Unit::packets, Kind::count, "requests received a second time"},
    {"rdma/ack-timeouts", Unit::events, Kind::count, "acknowledgements that did not come in time"},
    {"rdma/adaptive-retransmits", Unit::events, Kind::count, "retransmissions of adaptive retransmission"},
    {"rdma/adaptive-timeouts", Unit::events, Kind::count, "timeouts of adaptive retransmission"},
    {"rdma/retransmits", Unit::packets, Kind::count, "packets sent again"},
    {"rdma/retries-exhausted", Unit::events, Kind::count, "connections broken after all retries"},
    {"rdma/impaired-peers", Unit::events, Kind::count, "peers that answered slowly"},
    {"rdma/silent-peers", Unit::events, Kind::count, "peers that did not answer"},
    // A NIC and its host
    {"host/rx-out-of-buffer", Unit::packets, Kind::count, "packets dropped: no receive buffer in the host"},
    {"host/pcie-write-stalls", Unit::percent, Kind::gauge, "time of the last second that writes waited"},
    {"host/pcie-read-stalls", Unit::percent, Kind::gauge, "time of the last second that reads waited"},
    {"host/pcie-buffer-overflows", Unit::packets, Kind::count, "packets dropped: the host took none by PCIe"},
    {"host/pcie-rx-errors", Unit::events, Kind::count, "errors of PCIe, from the host"},
    {"host/pcie-tx-errors", Unit::events, Kind::count, "errors of PCIe, to the host"},
    // Egress queues of a switch port
    {"queue[#]/packets", Unit::packets, Kind::count, "packets sent from this queue"},
    {"queue[#]/bytes", Unit::bytes, Kind::count, "bytes sent from this queue"},
    {"queue[#]/dropped-packets", Unit::packets, Kind::count, "packets that this queue dropped"},
    {"queue[#]/dropped-bytes", Unit::bytes, Kind::count, "bytes that this queue dropped"},
    {"queue[#]/trimmed-packets", Unit::packets, Kind::count, "packets cut to their headers"},
    {"queue[#]/ecn-marked-packets", Unit::packets, Kind::count, "packets that this queue marked (CE)"},
    {"queue[#]/ecn-marked-bytes", Unit::bytes, Kind::count, "bytes of packets that this queue marked (CE)"},
    {"queue[#]/wred-dropped-packets", Unit::packets, Kind::count, "packets that WRED dropped"},
    {"queue[#]/wred-dropped-bytes", Unit::bytes, Kind::count, "bytes that WRED dropped"},
    {"queue[#]/occupancy", Unit::bytes, Kind::gauge, "bytes that wait now"},
    {"queue[#]/watermark", Unit::bytes, Kind::watermark, "most shared buffer used since an operator's clear"},
    {"queue[#]/recent-watermark", Unit::bytes, Kind::watermark, "most shared buffer used in recent minutes"},
    {"queue[#]/watchdog/stormed", Unit::yes_or_no, Kind::gauge, "whether a PFC storm stops this queue now"},
    {"queue[#]/watchdog/storms", Unit::events, Kind::count, "PFC storms detected"},
    {"queue[#]/watchdog/restorations", Unit::events, Kind::count, "PFC storms that ended"},
    {"queue[#]/watchdog/rx-packets", Unit::packets, Kind::count, "packets received during PFC storms"},
    {"queue[#]/watchdog/tx-packets", Unit::packets, Kind::count, "packets sent during PFC storms"},
    {"queue[#]/watchdog/rx-dropped-packets", Unit::packets, Kind::count, "received packets that it dropped"},
    {"queue[#]/watchdog/tx-dropped-packets", Unit::packets, Kind::count, "packets to send that it dropped"},
    // Ingress priority groups of a switch port
    {"group[#]/dropped-packets", Unit::packets, Kind::count, "packets that this priority group dropped"},
    {"group[#]/shared-watermark", Unit::bytes, Kind::watermark, "most shared buffer since a clear"},
    {"group[#]/headroom-watermark", Unit::bytes, Kind::watermark, "most headroom since a clear"},
    {"group[#]/recent-shared-watermark", Unit::bytes, Kind::watermark, "most shared buffer of late"},
    {"group[#]/recent-headroom-watermark", Unit::bytes, Kind::watermark, "most headroom of late"},
    // Buffer pools of a switch
    {"pool[*]/watermark", Unit::bytes, Kind::watermark, "most of the pool used since a clear"},
    {"pool[*]/headroom-watermark", Unit::bytes, Kind::watermark, "most shared headroom since a clear"},
    {"pool[*]/recent-watermark", Unit::bytes, Kind::watermark, "most of the pool used of late"},
    {"pool[*]/recent-headroom-watermark", Unit::bytes, Kind::watermark, "most shared headroom of late"},
};

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

}  // namespace

std::string_view to_string(CounterKind kind) {
  switch (kind) {
    case Kind::count: return "count";
    case Kind::gauge: return "gauge";
    case Kind::watermark: return "watermark";
  }
  return "";
}

std::string_view to_string(CounterUnit unit) {
  switch (unit) {
    case Unit::packets: return "packets";
    case Unit::frames: return "frames";
    case Unit::bytes: return "bytes";
    case Unit::bits: return "bits";
    case Unit::symbols: return "symbols";
    case Unit::codewords: return "codewords";
    case Unit::events: return "events";
    case Unit::microseconds: return "us";
    case Unit::bytes_per_second: return "bytes/s";
    case Unit::packets_per_second: return "packets/s";
    case Unit::ratio: return "ratio";
    case Unit::percent: return "%";
    case Unit::yes_or_no: return "yes or no";
  }
  return "";
}

std::span<const CounterRow> counter_rows() { return kRows; }

const CounterRow* find_counter(std::string_view name) {
  static const auto by_name = [] {
    std::map<std::string_view, const CounterRow*> out;
    for (const CounterRow& row : kRows) out.emplace(row.name, &row);
    return out;
  }();
  const auto exact = by_name.find(name);
  if (exact != by_name.end()) return exact->second;
  const std::size_t open = name.find('[');
  const std::size_t close = name.find(']', open == name.npos ? 0 : open);
  if (open == name.npos || close == name.npos || close == open + 1) return nullptr;
  const std::string_view key = name.substr(open + 1, close - open - 1);
  for (const std::string_view any : {"#", "*"}) {
    if (any == "#" && !is_number(key)) continue;
    const std::string pattern =
        std::string(name.substr(0, open + 1)) + std::string(any) + std::string(name.substr(close));
    if (const auto row = by_name.find(pattern); row != by_name.end()) return row->second;
  }
  return nullptr;
}

std::string counter_name(std::string_view pattern, std::string_view key) {
  std::size_t at = pattern.find("[#]");
  if (at == pattern.npos) at = pattern.find("[*]");
  if (at == pattern.npos) return std::string(pattern);
  std::string name(pattern.substr(0, at + 1));
  name += key;
  name += pattern.substr(at + 2);
  return name;
}

std::string_view counter_scope(std::string_view name) {
  return name.substr(0, name.find('/', name.starts_with("pool[") ? name.find(']') : 0));
}

}  // namespace lockstep
