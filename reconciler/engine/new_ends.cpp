#include "reconciler/engine/new_ends.hpp"

#include <algorithm>
#include <ranges>
#include <utility>

#include "reconciler/engine/columns.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

bool is_of_an_end(Path path) { return gives_an_end(schema_row(path.row())); }

std::set<std::string> ending_at(const BlastRadius& end, const std::set<std::string>& subjects,
                                const Measurer& measurer) {
  std::set<std::string> out;
  for (const std::string& subject : subjects)
    if (measurer.crosses(subject, end)) out.insert(subject);
  return out;
}

}  // namespace

NewEnds new_ends(const std::vector<Step>& steps, const Fleet& fleet, const WasWritten& was_written) {
  std::map<PortName, std::set<Path>> given;
  for (const Step& step : steps) {
    const auto device = fleet.find(step.device);
    if (!device || !fleet[*device].is_host()) continue;
    for (const PlannedChange& change : step.changes)
      if (!change.transient && is_of_an_end(change.path) && !change.was && change.want)
        given[{step.device, std::string(change.path.key(0))}].insert(change.path);
  }
  NewEnds out;
  for (const auto& [port, addresses] : given) {
    const Tree& want = fleet[*fleet.find(port.device)].intent->want;
    const bool all = std::ranges::all_of(want.of_row(addresses.begin()->row()), [&](const Entry& entry) {
      return entry.path.key(0) != port.port ||
             (addresses.contains(entry.path) && !(was_written && was_written(port.device, entry.path)));
    });
    const auto cable = fleet.wiring().cable_at(port.device, port.port);
    if (all && cable) out[port.device].cables.push_back(*cable);
  }
  for (auto& [host, end] : out) std::ranges::sort(end.cables);
  return out;
}

bool comes_with(const NewEnds& ends, const Fleet& fleet, const std::string& device, Path effect) {
  if (ends.contains(device)) return true;
  const auto index = fleet.find(device);
  const auto is_at_one = [&](std::string_view port) {
    const auto cable = fleet.wiring().cable_at(device, port);
    return cable &&
           std::ranges::any_of(ends, [&](const auto& end) { return end.second.touches_cable(*cable); });
  };
  if (effect.key_count() > 0 && is_at_one(effect.key(0))) return true;
  const Value want = index ? fleet[*index].intent->want.value(effect) : Value{};
  return want.kind() == Value::Kind::list && !want.as_list().empty() &&
         std::ranges::all_of(want.as_list(), is_at_one);
}

void forget_pairs(std::vector<GateFigure>& figures, const NewEnds& ends, const Measurer& measurer) {
  if (ends.empty()) return;
  BlastRadius any;
  for (const auto& [host, end] : ends)
    any.cables.insert(any.cables.end(), end.cables.begin(), end.cables.end());
  std::ranges::sort(any.cables);
  const auto was_there = [](const GateFigure& one) {
    return one.state == SloState::holds || one.figure.value_or(0) > 0;
  };
  for (GateFigure& one : figures) {
    if (one.subject.empty() || was_there(one) || !measurer.crosses(one.subject, any)) continue;
    one.state = SloState::none;
    one.figure.reset();
    one.cpu.reset();
  }
}

std::set<std::string> hosts_to_blame(const std::set<std::string>& broken,
                                     const std::map<std::string, Judged>& judged, const NewEnds& ends,
                                     const Measurer& measurer) {
  std::set<std::string> holding;
  for (const auto& [subject, one] : judged)
    if (one.attribution == Attribution::holds && !subject.empty()) holding.insert(subject);
  std::map<std::string, std::set<std::string>> broken_at;
  std::map<std::string, std::ptrdiff_t> holding_at;
  for (const auto& [host, end] : ends) {
    auto those = ending_at(end, broken, measurer);
    if (those.empty()) continue;
    broken_at.emplace(host, std::move(those));
    holding_at[host] = std::ssize(ending_at(end, holding, measurer));
  }
  std::set<std::string> out;
  while (!broken_at.empty()) {
    const auto weight = [&holding_at](const auto& one) {
      return std::pair(std::ssize(one.second), -holding_at.at(one.first));
    };
    const auto most = std::ranges::max(broken_at | std::views::transform(weight));
    std::set<std::string> covered;
    for (const auto& one : broken_at)
      if (weight(one) == most) {
        out.insert(one.first);
        covered.insert(one.second.begin(), one.second.end());
      }
    for (auto& [host, those] : broken_at)
      std::erase_if(those, [&covered](const std::string& subject) { return covered.contains(subject); });
    std::erase_if(broken_at, [](const auto& one) { return one.second.empty(); });
  }
  return out;
}

}  // namespace lockstep
