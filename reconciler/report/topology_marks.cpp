#include "reconciler/report/topology_marks.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "reconciler/report/bench_report.hpp"
#include "reconciler/report/table.hpp"
#include "specs/model/path.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::json;

std::string text_at(const Json& object, const char* key) {
  const auto at = object.is_object() ? object.find(key) : object.end();
  return at != object.end() && at->is_string() ? at->get<std::string>() : "";
}

const Json& list_at(const Json& object, const char* key) {
  static const Json kNothing = Json::array();
  const auto at = object.is_object() ? object.find(key) : object.end();
  return at != object.end() && at->is_array() ? *at : kNothing;
}

Error refusal(std::string why) { return Error{ErrorKind::refused, std::move(why)}; }

class Marking {
 public:
  Marking(const Topology& topology, TopologyMarks& marks) : topology_(topology), marks_(marks) {}

  Result<DeviceIndex> device(const std::string& name) const {
    const DeviceIndex found = topology_.find_device(name);
    if (found == kNone) return refusal("made for another cluster: these specs have no device '" + name + "'");
    return found;
  }

  Result<Done> mark_device(const std::string& name, Mark mark) {
    TRY(const DeviceIndex found, device(name));
    marks_.devices[found].insert(mark);
    return Done{};
  }

  // "gpu1:rail0", with or without a trailing " sending": marks the link there, and its device.
  Result<Done> mark_end(std::string_view end, Mark mark) {
    const std::size_t colon = end.find(':');
    const std::string name(end.substr(0, colon));
    TRY_DONE(mark_device(name, mark));
    if (colon == std::string_view::npos) return Done{};
    end.remove_prefix(colon + 1);
    mark_port(topology_.find_device(name), end.substr(0, end.find(' ')), mark);
    return Done{};
  }

  // For a port that these specs do not have, or without a cable, only the device is marked.
  void mark_port(DeviceIndex device, std::string_view name, Mark mark) {
    const PortIndex port = topology_.find_port(device, name);
    if (port != kNone && topology_.ports[port].link != kNone)
      marks_.links[topology_.ports[port].link].insert(mark);
  }

  // "leaf0:up0 -> spine0:down0", or with "<->": marks only the link, because neither device is suspected.
  Result<Done> mark_cable(const std::string& name, Mark mark) {
    const std::size_t colon = name.find(':');
    TRY(const DeviceIndex end, device(name.substr(0, colon)));
    if (colon != std::string::npos)
      mark_port(end, std::string_view(name).substr(colon + 1, name.find(' ') - colon - 1), mark);
    return Done{};
  }

  // "gpu1:rail0 -> gpu2:rail0"; a group ("rail0 (1MiB)") has no ends to mark.
  Result<Done> mark_pair(const std::string& subject, Mark mark) {
    constexpr std::string_view kArrow = " -> ";
    const std::size_t arrow = subject.find(kArrow);
    if (arrow == std::string::npos) return Done{};
    TRY_DONE(mark_end(subject.substr(0, arrow), mark));
    return mark_end(subject.substr(arrow + kArrow.size()), mark);
  }

  void mark_item(const Json& item, DeviceIndex device) {
    marks_.devices[device].insert(Mark::drifted);
    const Result<Path> path = Path::parse(text_at(item, "path"));
    for (std::size_t i = 0; path && i < path->key_count(); ++i)
      mark_port(device, path->key(i), Mark::drifted);
  }

 private:
  const Topology& topology_;
  TopologyMarks& marks_;
};

Result<Done> check_document(const Json& document, std::string_view kind, const std::string& made_by,
                            const std::string& cluster) {
  if (text_at(document, "kind") != kind)
    return refusal("no document of `lockstep " + made_by + " -o json` (its kind is '" +
                   text_at(document, "kind") + "', not '" + std::string(kind) + "')");
  const std::string of = text_at(document, "cluster");  // older documents have none
  if (!of.empty() && of != cluster)
    return refusal("made for another cluster: '" + of + "', not '" + cluster + "'");
  return Done{};
}

// The same rule as in DriftEntry::is_difference.
bool is_difference(const Json& item) {
  const std::string state = text_at(item, "state");
  const auto by_hand = item.find("manual");
  const bool differs = state == to_string(DriftState::drifted) || state == to_string(DriftState::effect) ||
                       (by_hand != item.end() && *by_hand == true);
  return differs && text_at(item, "maintenance").empty();
}

std::string actual_of(const Json& slo) {
  const std::string have = text_at(slo, "have");
  return have.empty() ? text_at(slo, "reason") : "actual " + have;
}

Result<Done> mark_slos(const Json& benchmark, Marking& marking, TopologyMarks& marks, std::size_t& failed) {
  for (const Json& slo : list_at(benchmark, "slo")) {
    if (text_at(slo, "verdict") != to_string(bench::Verdict::fail)) continue;
    ++failed;
    const std::string worst = text_at(slo, "worst");
    marks.verdicts.push_back(fmt::format("{}: {} {}, desired {}, {}{}", text_at(benchmark, "name"),
                                         text_at(slo, "metric"), text_at(slo, "statistic"),
                                         text_at(slo, "want"), actual_of(slo),
                                         worst.empty() ? "" : ", worst " + worst));
    TRY_DONE(marking.mark_pair(worst, Mark::worst));
  }
  return Done{};
}

// A failed pair does not mark its ends, unless an end has no pair that got through.
Result<Done> mark_failed_ends(const Json& benchmark, Marking& marking) {
  std::map<std::string, bool> carried;
  for (const Json& one : list_at(benchmark, "measurements")) {
    const std::string trouble = text_at(one, "trouble");
    const bool failed =
        trouble == to_string(bench::Trouble::path) || trouble == to_string(bench::Trouble::wrong);
    for (const char* const end : {"from", "to"})
      if (const std::string name = text_at(one, end); !name.empty()) carried[name] |= !failed;
  }
  for (const auto& [end, any] : carried) {
    TRY_DONE(marking.device(end.substr(0, end.find(':'))));
    if (!any) TRY_DONE(marking.mark_end(end, Mark::failed));
  }
  return Done{};
}

Result<Done> mark_suspects(const Json& document, Marking& marking) {
  for (const Json& one : list_at(document, "suspects")) {
    const auto rank = one.find("rank");
    if (rank == one.end() || !rank->is_number_integer() || rank->get<std::uint64_t>() >= kSuspectRanksMost)
      continue;
    const std::string kind = text_at(one, "kind");
    const std::string name = text_at(one, "name");
    const bool of_ends =
        kind == to_string(bench::Suspect::Kind::endpoint) || kind == to_string(bench::Suspect::Kind::device);
    TRY_DONE(of_ends ? marking.mark_end(name, Mark::suspect) : marking.mark_cable(name, Mark::suspect));
  }
  return Done{};
}

}  // namespace

Result<Done> mark_drift(const Json& document, const std::string& cluster, const Topology& topology,
                        TopologyMarks& marks) {
  TRY_DONE(check_document(document, "DriftReport", "drift", cluster));
  Marking marking(topology, marks);
  for (const Json& item : list_at(document, "items")) {
    TRY(const DeviceIndex device, marking.device(text_at(item, "device")));
    if (is_difference(item)) marking.mark_item(item, device);
  }
  for (const Json& one : list_at(document, "unobserved"))
    TRY_DONE(marking.mark_device(text_at(one, "device"), Mark::unseen));
  marks.with_drift = true;
  return Done{};
}

Result<Done> mark_bench(const Json& document, const std::string& cluster, const Topology& topology,
                        TopologyMarks& marks) {
  TRY_DONE(check_document(document, "BenchmarkReport", "bench", cluster));
  Marking marking(topology, marks);
  const std::size_t verdict_line = marks.verdicts.size();
  marks.verdicts.emplace_back();  // precedes the SLOs that it summarises
  std::size_t slos = 0;
  std::size_t failed = 0;
  for (const Json& benchmark : list_at(document, "benchmarks")) {
    slos += list_at(benchmark, "slo").size();
    TRY_DONE(mark_slos(benchmark, marking, marks, failed));
    TRY_DONE(mark_failed_ends(benchmark, marking));
  }
  TRY_DONE(mark_suspects(document, marking));
  marks.verdicts[verdict_line] =
      fmt::format("bench: {}; {} of {} failed", text_at(document, "verdict"), failed, counted(slos, "SLO"));
  marks.with_bench = true;
  return Done{};
}

}  // namespace lockstep
