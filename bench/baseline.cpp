#include "bench/baseline.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

namespace lockstep::bench {
namespace {

using Json = nlohmann::json;
constexpr int version = 1;
// Samples and buckets of one entry: the longest stored run is 1e6 iterations.
constexpr std::size_t entry_limit = 1'000'000;

Error wrong(const std::string& what) { return {ErrorKind::invalid_spec, "baseline: " + what, nullptr}; }

Json write_seen(const Distribution& seen) {
  if (!seen.histogram) return {{"samples", seen.samples}};
  Json buckets = Json::array();
  for (const Histogram::Bucket& bucket : seen.histogram->buckets())
    buckets.push_back(Json::array({bucket.lowest, bucket.count}));
  return {{"scale", seen.scale},
          {"min", seen.histogram->min()},
          {"max", seen.histogram->max()},
          {"sum", seen.histogram->sum()},
          {"buckets", std::move(buckets)}};
}

Json write_one(const BaselineEntry& entry) {
  Json out = write_seen(entry.seen);
  if (entry.nominal) out["nominal"] = *entry.nominal;
  if (entry.hops > 0) out["hops"] = entry.hops;
  return out;
}

bool finite(const Json& node) { return node.is_number() && std::isfinite(node.get<double>()); }

Result<Distribution> read_samples(const Json& list, const std::string& key) {
  Distribution seen;
  if (!list.is_array() || list.size() > entry_limit) return wrong(key + ": samples is not a list");
  for (const Json& sample : list) {
    if (!finite(sample)) return wrong(key + ": a sample is not a number");
    seen.samples.push_back(sample.get<double>());
  }
  return seen;
}

Result<Distribution> read_histogram(const Json& node, const std::string& key) {
  const auto whole = [&](const char* name) { return node.contains(name) && node[name].is_number_unsigned(); };
  const auto number = [&](const char* name) { return node.contains(name) && finite(node[name]); };
  if (!whole("min") || !whole("max") || !number("sum") || !number("scale"))
    return wrong(key + ": min, max, sum or scale is missing");
  const Json& list = node["buckets"];
  if (!list.is_array() || list.size() > entry_limit) return wrong(key + ": buckets is not a list");
  std::vector<Histogram::Bucket> buckets;
  for (const Json& one : list) {
    if (!one.is_array() || one.size() != 2 || !one[0].is_number_unsigned() || !one[1].is_number_unsigned())
      return wrong(key + ": a bucket is not [lowest, count]");
    buckets.push_back({one[0].get<std::uint64_t>(), one[1].get<std::uint64_t>()});
  }
  Distribution seen;
  seen.scale = node["scale"].get<double>();
  seen.histogram = Histogram::from(buckets, node["min"].get<std::uint64_t>(),
                                   node["max"].get<std::uint64_t>(), node["sum"].get<double>());
  return seen;
}

Result<BaselineEntry> read_one(const Json& node, const std::string& key) {
  if (!node.is_object()) return wrong(key + ": not an object");
  if (!node.contains("buckets") && !node.contains("samples"))
    return wrong(key + ": neither samples nor buckets");
  BaselineEntry entry;
  if (node.contains("buckets")) {
    TRY(entry.seen, read_histogram(node, key));
  } else {
    TRY(entry.seen, read_samples(node["samples"], key));
  }
  if (node.contains("nominal")) {
    if (!finite(node["nominal"])) return wrong(key + ": nominal is not a number");
    entry.nominal = node["nominal"].get<double>();
  }
  if (node.contains("hops")) {
    if (!node["hops"].is_number_unsigned()) return wrong(key + ": hops is not a number");
    entry.hops = node["hops"].get<unsigned>();
  }
  return entry;
}

// Links crossed by its traffic: if it may take several links, their probabilities add up to one.
unsigned hops_of(const Measurement& measurement) {
  double hops = 0;
  if (measurement.group.empty())
    for (const CrossedLink& link : measurement.links) hops += link.chance;
  return static_cast<unsigned>(std::lround(hops));
}

// What the entries of a cohort share: the key without the benchmark and the ends.
std::string cohort_of(std::string_view key, const BaselineEntry& entry) {
  const std::size_t workload = std::min(key.find('|'), key.size());
  const std::size_t size = std::min(key.rfind('|'), key.size());
  const std::size_t ends = std::max(key.substr(0, size).rfind('|'), workload);
  return std::string(key.substr(workload, ends - workload)) + std::string(key.substr(size)) + '|' +
         std::to_string(entry.hops) + (entry.nominal ? "|of nominal" : "");
}

std::optional<double> comparable(const BaselineEntry& entry) {
  const std::optional<double> middle = figure(entry.seen, Statistic::median).value;
  if (!middle || !entry.nominal) return middle;
  return *entry.nominal > 0 ? std::optional(*middle / *entry.nominal) : std::nullopt;
}

}  // namespace

std::string baseline_key(const Measurement& measurement) {
  std::string key = measurement.benchmark;
  for (const std::string_view part : {to_string(measurement.workload), to_string(measurement.metric),
                                      std::string_view(measurement.transport)}) {
    key += '|';
    key += part;
  }
  key += '|' + (measurement.group.empty() ? measurement.from + '>' + measurement.to : measurement.group);
  return key + '|' + std::to_string(measurement.bytes);
}

std::string why_no_entry(const Measurement& measurement) {
  if (!measurement.ok()) return measurement.error.empty() ? "not measured" : measurement.error;
  if (measurement.cpu_limited) return measurement.cpu_limit();
  const Figure middle = figure(measurement.seen, Statistic::median);
  return middle.value ? "" : middle.why_not;
}

BaselineEntry entry_of(const Measurement& measurement) {
  return {measurement.seen, measurement.nominal, hops_of(measurement)};
}

void attach(const Baseline& baseline, std::span<Measurement> measurements) {
  for (Measurement& measurement : measurements) {
    const auto found = baseline.entries.find(baseline_key(measurement));
    measurement.accepted.reset();
    if (found != baseline.entries.end()) measurement.accepted = found->second.seen;
  }
}

Cohorts::Cohorts(std::span<const Baseline> sets) {
  std::map<std::string, std::vector<double>> figures;
  for (const Baseline& set : sets)
    for (const auto& [key, entry] : set.entries)
      if (const auto one = comparable(entry)) figures[cohort_of(key, entry)].push_back(*one);
  for (const auto& [cohort, all] : figures) medians_[cohort] = *median(all);
}

std::optional<InCohort> Cohorts::find(const Measurement& measurement) const {
  const BaselineEntry entry = entry_of(measurement);
  const auto cohort = medians_.find(cohort_of(baseline_key(measurement), entry));
  const std::optional<double> figure = comparable(entry);
  if (!figure || cohort == medians_.end()) return std::nullopt;
  return InCohort{*figure, cohort->second};
}

std::string write_baseline(const Baseline& baseline) {
  Json entries = Json::object();
  for (const auto& [key, entry] : baseline.entries) entries[key] = write_one(entry);
  const Json whole = {{"kind", "Baseline"},
                      {"version", version},
                      {"configHash", baseline.config_hash},
                      {"entries", std::move(entries)}};
  return whole.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Baseline> read_baseline(std::string_view text) {
  const Json whole = Json::parse(text.begin(), text.end(), nullptr, false);
  if (whole.is_discarded() || !whole.is_object()) return wrong("not a JSON object");
  if (!whole.contains("kind") || whole["kind"] != "Baseline") return wrong("kind is not Baseline");
  if (!whole.contains("version") || whole["version"] != version) return wrong("version is not 1");
  if (!whole.contains("entries") || !whole["entries"].is_object()) return wrong("entries is missing");
  Baseline made;
  if (whole.contains("configHash") && whole["configHash"].is_string())
    made.config_hash = whole["configHash"].get<std::string>();
  for (const auto& [key, node] : whole["entries"].items()) {
    TRY(BaselineEntry entry, read_one(node, key));
    made.entries.emplace(key, std::move(entry));
  }
  return made;
}

}  // namespace lockstep::bench
