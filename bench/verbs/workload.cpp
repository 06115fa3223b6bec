#include "bench/verbs/workload.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

namespace lockstep::bench::verbs {
namespace {

// A message: two thirds of what the lab's machine could pin twice; a verbs message may have 2 GiB.
constexpr std::uint64_t bytes_most = std::uint64_t{64} << 20U;
constexpr std::uint64_t queue_pairs_most = 64;
constexpr std::uint64_t depth_most = 4096;      // half of max_qp_wr on the known devices
constexpr std::uint64_t minutes_ten = 600'000;  // ms

Error wrong(const std::string& what) { return {ErrorKind::invalid_spec, "RDMA workload: " + what}; }

// Takes keys out of an object, one by one, and reports which are left.
class Reader {
 public:
  explicit Reader(const Json& json) : json_(json) {}

  template <class T>
  void number(const char* key, T& into, std::uint64_t least, std::uint64_t most) {
    seen_.insert(key);
    const auto found = json_.find(key);
    if (found == json_.end()) return;
    if (!found->is_number_unsigned() || found->get<std::uint64_t>() < least ||
        found->get<std::uint64_t>() > most)
      return fail(std::string(key) + " must be a number from " + std::to_string(least) + " to " +
                  std::to_string(most));
    into = static_cast<T>(found->get<std::uint64_t>());
  }
  template <class E>
  void choice(const char* key, E& into) {
    seen_.insert(key);
    const auto found = json_.find(key);
    if (found == json_.end()) return;
    const std::string text = found->is_string() ? found->get<std::string>() : std::string{};
    const auto all = words(E{});
    const auto at = std::find(all.begin(), all.end(), text);
    std::string choices;
    for (const std::string_view one : all) choices += (choices.empty() ? "" : ", ") + std::string(one);
    if (at == all.end()) return fail(std::string(key) + " must be one of " + choices);
    into = static_cast<E>(at - all.begin());
  }
  Result<Done> finish() {
    for (const auto& item : json_.items())
      if (!seen_.contains(item.key())) fail("there is no " + item.key());
    if (!problem_.empty()) return wrong(problem_);
    return Done{};
  }

 private:
  void fail(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
  }
  const Json& json_;
  std::set<std::string> seen_;
  std::string problem_;
};

}  // namespace

Json to_json(const Workload& w) {
  return {{"operation", word(w.operation)},
          {"service", word(w.service)},
          {"measure", word(w.measure)},
          {"bytes", w.bytes},
          {"iterations", w.iterations},
          {"durationMs", w.duration_ms},
          {"warmUp", w.warm_up},
          {"queuePairs", w.queue_pairs},
          {"depth", w.depth},
          {"batch", w.batch},
          {"signalEvery", w.signal_every},
          {"inlineBytes", w.inline_bytes},
          {"trafficClass", w.traffic_class},
          {"pathMtu", w.path_mtu},
          {"timeout", w.timeout},
          {"retries", w.retries},
          {"rnrTimer", w.rnr_timer},
          {"rnrRetries", w.rnr_retries},
          {"stallMs", w.stall_ms},
          {"seed", w.seed},
          {"flow", w.flow},
          {"fault", word(w.fault)}};
}

Result<Workload> workload_from(const Json& json) {
  if (!json.is_object()) return wrong("not a JSON object");
  constexpr std::uint64_t any = ~std::uint64_t{0};
  Workload out;
  Reader read(json);
  read.choice("operation", out.operation);
  read.choice("service", out.service);
  read.choice("measure", out.measure);
  read.number("bytes", out.bytes, 1, bytes_most);
  read.number("iterations", out.iterations, 0, std::uint64_t{1} << 40U);
  read.number("durationMs", out.duration_ms, 0, minutes_ten);
  read.number("warmUp", out.warm_up, 0, std::uint64_t{1} << 32U);
  read.number("queuePairs", out.queue_pairs, 1, queue_pairs_most);
  read.number("depth", out.depth, 1, depth_most);
  read.number("batch", out.batch, 1, depth_most);
  read.number("signalEvery", out.signal_every, 1, depth_most);
  read.number("inlineBytes", out.inline_bytes, 0, 4096);
  read.number("trafficClass", out.traffic_class, 0, 255);
  read.number("pathMtu", out.path_mtu, 0, 4096);
  read.number("timeout", out.timeout, 1, 31);
  read.number("retries", out.retries, 0, 6);
  read.number("rnrTimer", out.rnr_timer, 0, 31);
  read.number("rnrRetries", out.rnr_retries, 0, 6);
  read.number("stallMs", out.stall_ms, 1, minutes_ten);
  read.number("seed", out.seed, 0, any);
  read.number("flow", out.flow, 0, any);
  read.choice("fault", out.fault);
  TRY_DONE(read.finish());
  TRY_DONE(check(out));
  return out;
}

Result<Done> check(const Workload& w) {
  if (w.iterations == 0 && w.duration_ms == 0)
    return wrong("neither iterations nor durationMs says when it ends");
  if (w.service == Service::datagram && (w.operation != Operation::send || w.measure != Measure::latency))
    return wrong("over UD there is the latency of send, and nothing else");
  if (w.measure == Measure::latency && w.queue_pairs != 1) return wrong("latency is of one queue pair");
  if (w.path_mtu != 0 && (w.path_mtu < 256 || (w.path_mtu & (w.path_mtu - 1)) != 0))
    return wrong("pathMtu must be 256, 512, 1024, 2048 or 4096");
  // The messages since the last signalled one keep their slots until the next one is posted.
  if (w.signal_every - 1 + w.batch > w.depth)
    return wrong("signalEvery - 1 + batch is above depth: the window could fill with nothing to complete it");
  return Done{};
}

Json to_json(const Transfer& transfer, const Workload& workload) {
  const double seconds = static_cast<double>(transfer.elapsed_ns) / 1e9;
  const auto rate = [&](double count) { return seconds > 0 ? count / seconds : 0.0; };
  const auto completed = static_cast<double>(transfer.completed);
  Json latency{{"samples", transfer.seen.count()},
               {"min", transfer.seen.min()},
               {"max", transfer.seen.max()},
               {"mean", transfer.seen.mean()}};
  // Percentiles that the samples do not support are left out (histogram.hpp).
  for (const auto& [name, percent] : {std::pair{"p50", 50.0}, std::pair{"p90", 90.0}, std::pair{"p99", 99.0},
                                      std::pair{"p99.9", 99.9}, std::pair{"p99.99", 99.99}})
    if (const auto value = transfer.seen.percentile(percent)) latency[name] = *value;
  Json out{{"completed", transfer.completed}, {"seconds", seconds}};
  if (workload.measure == Measure::bandwidth) {
    out["bytesPerSecond"] = rate(completed * workload.bytes);
    out["messagesPerSecond"] = rate(completed);
  }
  out["latencyNs"] = std::move(latency);
  return out;
}

}  // namespace lockstep::bench::verbs
