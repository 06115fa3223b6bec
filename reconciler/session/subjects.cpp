#include "reconciler/session/subjects.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep {
namespace {

std::string slo_text(const Slo& slo) {
  return fmt::format("{} {}{}", to_string(*slo.metric), to_string(*slo.statistic),
                     bound_of(slo)->of == Bound::Of::baseline ? " of baseline" : "");
}

bool is_measured(const ValidationSuite& suite, const Subject& subject) {
  return std::ranges::any_of(suite.benchmarks, [&](const Benchmark& benchmark) {
    return *benchmark.name == subject.pair.benchmark &&
           std::ranges::any_of(benchmark.slo, [&](const Slo& slo) { return slo_text(slo) == subject.slo; });
  });
}

}  // namespace

std::string subject_of(const SuiteOutcome& suite, const BenchmarkOutcome& outcome, const Slo& slo,
                       const bench::Measurement& one) {
  return fmt::format("{}/{} {}, {}", *suite.suite->metadata.name, *outcome.benchmark->name, slo_text(slo),
                     one.subject());
}

std::optional<Subject> parse_subject(std::string_view text) {
  constexpr std::string_view kOf = ", ";
  constexpr std::string_view kTo = " -> ";
  const std::size_t slash = text.find('/');
  const std::size_t blank = text.find(' ', slash);
  const std::size_t of = text.find(kOf, blank);
  if (slash == text.npos || blank == text.npos || of == text.npos) return std::nullopt;
  Subject out;
  out.pair.suite = text.substr(0, slash);
  out.pair.benchmark = text.substr(slash + 1, blank - slash - 1);
  out.slo = text.substr(blank + 1, of - blank - 1);
  const std::string_view measured = text.substr(of + kOf.size());
  if (const std::size_t to = measured.find(kTo); to != measured.npos) {
    out.pair.from = measured.substr(0, to);
    out.pair.to = measured.substr(to + kTo.size());
  }
  return out;
}

SubjectPaths::Fabric& SubjectPaths::fabric(FabricIndex index) {
  Fabric& out = fabrics_[index];
  if (!out.ground) {
    out.ground = std::make_unique<Ground>(input_, index);
    out.ends = bench::index_of(out.ground->probes);
  }
  return out;
}

bool SubjectPaths::cross(const std::string& subject, const BlastRadius& changed) {
  if (changed.empty()) return false;
  const std::optional<Subject> parsed = parse_subject(subject);
  if (!parsed) return false;
  const auto& suites = input_.catalog.validation_suites;
  const auto suite = std::ranges::find_if(
      suites, [&](const ValidationSuite& one) { return *one.metadata.name == parsed->pair.suite; });
  if (suite == suites.end() || !is_measured(*suite, *parsed)) return false;
  const FabricIndex index = fabric_index(input_.catalog, *suite);
  if (index == kNone) return false;
  if (parsed->pair.from.empty()) return true;
  Fabric& in = fabric(index);
  const auto from = in.ends.find(parsed->pair.from);
  const auto to = in.ends.find(parsed->pair.to);
  if (from == in.ends.end() || to == in.ends.end()) return false;
  std::vector<std::uint32_t> cables;
  if (!in.ground->each_link({from->second, to->second},
                            [&](std::uint32_t link) { cables.push_back(link / 2); }))
    return false;
  std::vector<std::string> devices;
  const Topology& topology = in.ground->topology();
  for (const std::uint32_t cable : cables)
    for (const PortIndex end : {topology.links[cable].a, topology.links[cable].b})
      devices.push_back(topology.device_of(end));
  return changed.touches_path(devices, cables);
}

}  // namespace lockstep
