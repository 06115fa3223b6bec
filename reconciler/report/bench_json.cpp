#include <nlohmann/json.hpp>
#include <set>

#include "reconciler/report/bench_report.hpp"
#include "specs/language/api_version.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::json;

Json counters_json(const std::vector<bench::CounterMove>& counters) {
  Json out = Json::array();
  for (const bench::CounterMove& move : counters)
    out.push_back({{"end", move.end},
                   {"counter", move.counter},
                   {"by", move.by},
                   {"signal", move.signal},
                   {"side", move.side}});
  return out;
}

Json measurement_json(const bench::Measurement& one) {
  Json out{{"metric", to_string(one.metric)}, {"unit", one.unit}};
  if (one.group.empty()) {
    out["from"] = one.from;
    out["to"] = one.to;
  } else {
    out["group"] = one.group;
    out["ranks"] = one.ranks;
    out["bytesPerRank"] = one.bytes;
  }
  if (one.ok()) {
    out["value"] = one.value;
  } else {
    out["error"] = one.error;
    out["trouble"] = to_string(one.trouble);
  }
  for (const Statistic statistic : {Statistic::p5, Statistic::p99})
    if (const auto figure = bench::figure(one.seen, statistic); figure.value)
      out[std::string(to_string(statistic))] = *figure.value;
  if (one.nominal) out["nominal"] = *one.nominal;
  if (one.ideal)
    out["ideal"] = {{"balanced", one.ideal->balanced}, {"hashExpected", one.ideal->hash_expected}};
  if (one.accepted)
    if (const auto figure = bench::figure(*one.accepted, Statistic::median); figure.value)
      out["baseline"] = *figure.value;
  if (one.cpu_limited) out["cpuLimited"] = one.cpu_reason;
  if (!one.note.empty()) out["note"] = one.note;
  if (one.path_mtu != 0) out["pathMtu"] = one.path_mtu;
  if (one.transport == "rdma") out["counters"] = counters_json(one.counters);
  return out;
}

Json benchmark_json(const BenchmarkOutcome& outcome) {
  Json measurements = Json::array();
  for (const bench::Measurement& one : outcome.measurements) measurements.push_back(measurement_json(one));
  Json slos = Json::array();
  for (const bench::SloVerdict& slo : outcome.verdict.slo)
    slos.push_back({{"metric", to_string(slo.metric)},
                    {"statistic", to_string(slo.statistic)},
                    {"want", slo.want},
                    {"have", slo.have},
                    {"verdict", to_string(slo.verdict)},
                    {"reason", slo.reason},
                    {"worst", slo.worst}});
  Json out{{"name", outcome.benchmark->name.value},
           {"workload", to_string(outcome.benchmark->workload.value)},
           {"transport", outcome.transport.empty() ? Json(nullptr) : Json(outcome.transport)},
           {"verdict", to_string(outcome.verdict.verdict)},
           {"measurements", measurements},
           {"slo", slos}};
  if (!outcome.transport_why.empty()) out["transportReason"] = outcome.transport_why;
  return out;
}

}  // namespace

Json bench_json(const std::vector<SuiteOutcome>& outcomes, const std::string& config_hash) {
  Json benchmarks = Json::array();
  Json suspects = Json::array();
  bench::Coverage coverage;
  std::set<std::string> busy;
  std::vector<std::string> uncovered;
  std::size_t left_out = 0;
  for (const SuiteOutcome& suite : outcomes) {
    busy.insert(suite.gate.busy.begin(), suite.gate.busy.end());
    uncovered.insert(uncovered.end(), suite.gate.uncovered.begin(), suite.gate.uncovered.end());
    left_out += suite.gate.left_out;
    for (const BenchmarkOutcome& outcome : suite.benchmarks) {
      Json one = benchmark_json(outcome);
      one["suite"] = suite.suite->metadata.name.value;
      benchmarks.push_back(std::move(one));
      coverage.pairs = std::max(coverage.pairs, outcome.coverage.pairs);
      coverage.of_pairs = std::max(coverage.of_pairs, outcome.coverage.of_pairs);
      coverage.links = std::max(coverage.links, outcome.coverage.links);
      coverage.of_links = std::max(coverage.of_links, outcome.coverage.of_links);
    }
    for (const bench::Suspect& suspect : suite.suspects)
      suspects.push_back({{"kind", to_string(suspect.kind)},
                          {"name", suspect.name},
                          {"rank", suspect.rank},
                          {"slow", suspect.slow},
                          {"pairs", suspect.pairs},
                          {"score", suspect.score()}});
  }
  // A benchmark that was stopped before it measured anything has no verdict.
  const bench::Verdict verdict =
      measurements_in(outcomes) == 0 ? bench::Verdict::unknown : verdict_of(outcomes);
  return {{"apiVersion", api_version},  // a document of its own also inside an ApplyReport
          {"kind", "BenchmarkReport"},
          {"configHash", config_hash},
          {"verdict", to_string(verdict)},
          {"benchmarks", benchmarks},
          {"coverage",
           {{"pairs", coverage.pairs},
            {"ofPairs", coverage.of_pairs},
            {"links", coverage.links},
            {"ofLinks", coverage.of_links},
            {"hostsWithJobs", busy},
            {"leftOutByBudget", left_out},
            {"uncovered", uncovered}}},
          {"suspects", suspects}};
}

}  // namespace lockstep
