#include "drivers/linux/rdma/counters.hpp"

#include <algorithm>
#include <charconv>

#include "drivers/linux/ethtool/driver_statistics.hpp"
#include "drivers/linux/rdma/counter_names.hpp"

namespace lockstep::rdma {
namespace {

constexpr Meaning kMeanings[] = {
    {Signal::bytes_sent, "bytes-sent", Side::traffic, "bytes were sent", ""},
    {Signal::bytes_received, "bytes-received", Side::traffic, "bytes were received", ""},
    {Signal::packets_sent, "packets-sent", Side::traffic, "packets were sent", ""},
    {Signal::packets_received, "packets-received", Side::traffic, "packets were received", ""},
    {Signal::ecn_marked_received, "ecn-marked-received", Side::victim, "packets arrived with CE marks",
     "congestion on the path to this port"},
    {Signal::ecn_marked_here, "ecn-marked-here", Side::contributor, "its own port's queue set CE marks",
     "the load on this port's queue, and RED's thresholds"},
    {Signal::cnps_sent, "cnps-sent", Side::contributor, "it told senders to slow down (CNP)",
     "a hot destination: an incast to this port"},
    {Signal::cnps_handled, "cnps-handled", Side::contributor, "it was told to slow down (CNP) and did",
     "its own flows through a congested queue"},
    {Signal::cnps_ignored, "cnps-ignored", Side::source, "it was told to slow down (CNP) and did not",
     "congestion control, which is off on this priority here"},
    {Signal::slow_restarts, "slow-restarts", Side::contributor, "flows began again slowly after a pause",
     "adaptive congestion control, or losses before"},
    {Signal::paused_by_peer, "paused-by-peer", Side::victim, "the switch paused it (PFC)",
     "congestion beyond the switch"},
    {Signal::pauses_sent, "pauses-sent", Side::source, "it paused the switch (PFC)",
     "a slow receiver: PCIe width and speed, NUMA, IOMMU, memory"},
    {Signal::pause_storms, "pause-storms", Side::source, "it paused the switch for too long",
     "a receiver that hangs: isolate it"},
    {Signal::discarded_here, "discarded-here", Side::source, "packets were discarded at this port",
     "lossless that does not work: PFC, its priority, headroom, or an MTU"},
    {Signal::receive_not_posted, "receive-not-posted", Side::source, "no receive was posted for a message",
     "the application here: too few receives"},
    {Signal::peer_not_ready, "peer-not-ready", Side::victim, "the peer had no receive posted",
     "the application at the peer"},
    {Signal::peer_never_ready, "peer-never-ready", Side::victim, "the peer stayed without a receive posted",
     "the application at the peer"},
    {Signal::out_of_sequence, "out-of-sequence", Side::victim, "packets arrived out of their sequence",
     "loss on the path to this port, or reordering where packets are sprayed"},
    {Signal::sequence_naks_received, "sequence-naks-received", Side::victim,
     "the peer missed packets that it sent", "loss on the path from this port"},
    {Signal::duplicates_received, "duplicates-received", Side::victim, "packets arrived a second time",
     "lost acknowledgements, or a peer's timeout that is too short"},
    {Signal::ack_timeouts, "ack-timeouts", Side::victim, "acknowledgements did not come in time",
     "loss or a black hole on the path, or a peer that is gone"},
    {Signal::retransmits, "retransmits", Side::victim, "packets were sent again", "loss on the path"},
    {Signal::retries_exhausted, "retries-exhausted", Side::victim, "a connection broke after all its retries",
     "a path that is down, or a peer that is gone"},
    {Signal::peer_impaired, "peer-impaired", Side::victim, "the peer did not answer, or slowly",
     "the peer and the path to it"},
    {Signal::receive_errors, "receive-errors", Side::victim, "packets arrived with errors",
     "the cable and optics on the path to this port"},
    {Signal::corrupt_received, "corrupt-received", Side::victim, "packets arrived corrupt (ICRC, FCS)",
     "the cable and optics on the path to this port"},
    {Signal::symbol_errors, "symbol-errors", Side::source, "bits could not be corrected on this link",
     "the optic, fibre or cable at this port"},
    {Signal::link_downs, "link-downs", Side::source, "the link went down", "the cable, optic or peer port"},
    {Signal::pcie_stalls, "pcie-stalls", Side::source, "the host took data slowly over PCIe",
     "link width and speed, ACS, IOMMU, MaxReadRequest"},
    {Signal::send_errors, "send-errors", Side::source, "packets could not be handed to the network here",
     "the route, the neighbor entry or the port's queue here"},
};

// '#' matches one or more digits.
bool matches(std::string_view pattern, std::string_view name) {
  const std::size_t at = pattern.find('#');
  if (at == std::string_view::npos) return pattern == name;
  const std::string_view after = pattern.substr(at + 1);
  if (!name.starts_with(pattern.substr(0, at)) || !name.ends_with(after)) return false;
  if (name.size() <= at + after.size()) return false;
  const std::string_view digits = name.substr(at, name.size() - at - after.size());
  return digits.find_first_not_of("0123456789") == std::string_view::npos;
}

bool counts_nothing(std::string_view name) {
  return name.starts_with(kGaugePrefix) || std::ranges::find(kNoCounters, name) != std::end(kNoCounters);
}

// Some files are texts, or return EINVAL for a counter that the firmware lacks: those have no value.
void read_folder(const HostFiles& files, const std::string& folder, CounterSnapshot& out) {
  for (const std::string& name : files.names(folder)) {
    const auto line = files.line(folder + "/" + name);
    if (!line) continue;
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(line->data(), line->data() + line->size(), value);
    if (error == std::errc{} && end == line->data() + line->size()) out.values[name] = value;
  }
}

std::uint64_t difference(std::uint64_t before, std::uint64_t after) {
  if (after >= before) return after - before;
  // The counter wrapped at 32 bits (mlx5's queue counters: counters.c, be32_to_cpu), or was reset. A wrap is
  // assumed if it was near the end; a 64-bit counter does not get there.
  constexpr std::uint64_t kEnd = std::uint64_t{1} << 32;
  if (before < kEnd && before > kEnd / 2) return kEnd - before + after;
  return after;
}

}  // namespace

std::string_view to_string(Side side) {
  switch (side) {
    case Side::traffic: return "traffic";
    case Side::victim: return "victim";
    case Side::contributor: return "contributor";
    case Side::source: return "source";
  }
  return "";
}

const Meaning& meaning_of(Signal signal) { return kMeanings[static_cast<std::size_t>(signal)]; }

std::optional<Signal> signal_of(std::string_view counter) {
  for (const CounterName& one : kCounterNames)
    if (matches(one.name, counter)) return one.signal;
  return std::nullopt;
}

Result<CounterSnapshot> read_counters(const HostFiles& files, std::string_view device, std::uint32_t port,
                                      std::string_view netdev) {
  const std::string folder =
      "/sys/class/infiniband/" + std::string(device) + "/ports/" + std::to_string(port);
  if (!files.exists(folder)) return Error{ErrorKind::unsupported, folder + ": no such RDMA device or port"};
  CounterSnapshot out;
  read_folder(files, folder + "/counters", out);
  read_folder(files, folder + "/hw_counters", out);
  if (netdev.empty()) return out;
  if (const auto told = driver_statistics(netdev))
    for (const auto& [name, value] : *told)
      if (signal_of(name)) out.values.emplace(name, value);
  return out;
}

std::vector<Moved> moved_between(const CounterSnapshot& before, const CounterSnapshot& after) {
  std::vector<Moved> out;
  for (const auto& [name, value] : after.values) {
    const auto was = before.values.find(name);
    if (was == before.values.end() || was->second == value || counts_nothing(name)) continue;
    const bool words = std::ranges::find(kCountedInWords, name) != std::end(kCountedInWords);
    out.push_back({name, difference(was->second, value) * (words ? 4 : 1), signal_of(name)});
  }
  return out;
}

}  // namespace lockstep::rdma
