#include "bench/baseline.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

namespace lockstep::bench {
namespace {

using Json = nlohmann::json;
constexpr int version = 1;
// Samples and buckets of one entry: the longest run that we store is 1e6 iterations.
constexpr std::size_t entry_limit = 1'000'000;

Error wrong(const std::string& what) { return {ErrorKind::invalid_spec, "baseline: " + what, nullptr}; }

Json write_one(const Distribution& seen) {
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

Baseline accept(std::span<const Measurement> measurements) {
  Baseline made;
  for (const Measurement& measurement : measurements) {
    if (made.config_hash.empty()) made.config_hash = measurement.config_hash;
    if (!measurement.ok() || measurement.cpu_limited || measurement.seen.count() == 0) continue;
    made.entries.insert_or_assign(baseline_key(measurement), measurement.seen);
  }
  return made;
}

void attach(const Baseline& baseline, std::span<Measurement> measurements) {
  for (Measurement& measurement : measurements) {
    const auto found = baseline.entries.find(baseline_key(measurement));
    measurement.accepted.reset();
    if (found != baseline.entries.end()) measurement.accepted = found->second;
  }
}

std::string write_baseline(const Baseline& baseline) {
  Json entries = Json::object();
  for (const auto& [key, seen] : baseline.entries) entries[key] = write_one(seen);
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
    if (!node.is_object()) return wrong(key + ": not an object");
    if (node.contains("buckets")) {
      TRY(Distribution seen, read_histogram(node, key));
      made.entries.emplace(key, std::move(seen));
    } else {
      if (!node.contains("samples")) return wrong(key + ": neither samples nor buckets");
      TRY(Distribution seen, read_samples(node["samples"], key));
      made.entries.emplace(key, std::move(seen));
    }
  }
  return made;
}

}  // namespace lockstep::bench
