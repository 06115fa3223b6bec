#include "bench/verbs/pair_run.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "bench/ideal.hpp"
#include "bench/tcp/cpu.hpp"
#include "drivers/linux/rdma/counters.hpp"

namespace lockstep::bench::verbs {
namespace {

// A polling process is always busy, so that only its wait for a CPU shows a shortage (bench/tcp/cpu.hpp): for
// a tenth of its time it neither posted nor polled.
constexpr double kept_waiting = 0.10;
// A server learns of the end together with the client, one trip earlier or later.
constexpr std::uint64_t answer_ns = 500'000'000;

std::uint64_t ns(std::chrono::milliseconds time) {
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(time).count());
}

Trouble trouble_named(const std::string& name) {
  constexpr auto all = bench::words(Trouble{});
  const auto at = std::find(all.begin(), all.end(), name);
  return at == all.end() ? Trouble::tool : static_cast<Trouble>(at - all.begin());
}

bool ok(const Json& says) {
  const auto found = says.find("ok");
  return found != says.end() && found->is_boolean() && found->get<bool>();
}

// A part of a probe's line that exists and is no JSON object; empty: none.
std::string malformed(const Json& says) {
  for (const char* part : {"result", "counters"})
    if (const auto found = says.find(part); found != says.end() && !found->is_object()) return part;
  return "";
}

std::uint32_t extended_bytes(Operation operation, std::uint64_t bytes, std::uint32_t path_mtu) {
  switch (operation) {
    case Operation::write: return reth_bytes;
    case Operation::read: return bytes > path_mtu ? 2 * aeth_bytes : aeth_bytes;
    case Operation::send: return 0;
  }
  return 0;
}

}  // namespace

PairRun::PairRun(const RoundsGround& ground, const Pair& pair) : ground_(ground) {
  made_.benchmark = ground.plan.benchmark;
  made_.workload = ground.plan.workload;
  made_.metric = latency() ? Metric::latency : Metric::bandwidth;
  made_.unit = latency() ? "s" : "bit/s";
  made_.transport = "rdma";
  made_.config_hash = ground.plan.config_hash;
  client_.endpoint = pair.from;
  server_.endpoint = pair.to;
  made_.from = name(client_);
  made_.to = name(server_);
}

Json PairRun::order(Role role) const {
  const RoundsTiming& timing = ground_.plan.timing;
  const End& own = role == Role::client ? client_ : server_;
  const End& far = role == Role::client ? server_ : client_;
  // The server outlasts the client, which can report how far it came.
  const auto limit = timing.start + timing.window + timing.stall +
                     (role == Role::server ? timing.slack : std::chrono::milliseconds{});
  Json out{{"role", word(role)},
           {"address", ground_.endpoints[own.endpoint].endpoint.address},
           {"peer", ground_.endpoints[far.endpoint].endpoint.address},
           {"device", ground_.ends[own.endpoint].device},
           {"deadlineMs", static_cast<std::uint64_t>(limit.count())}};
  if (role == Role::server) return out;
  Workload traffic = ground_.traffic;
  traffic.iterations = 0;
  traffic.duration_ms = static_cast<std::uint32_t>(timing.window.count());
  traffic.stall_ms = static_cast<std::uint32_t>(timing.stall.count());
  const End& sender = traffic.operation == Operation::read ? server_ : client_;
  traffic.traffic_class = ground_.ends[sender.endpoint].traffic_class;
  if (ground_.plan.flows)
    traffic.flow =
        flow_number(*ground_.plan.flows, ground_.plan.benchmark, ground_.endpoints[client_.endpoint].endpoint,
                    ground_.endpoints[server_.endpoint].endpoint, repeat_);
  out["workload"] = to_json(traffic);
  out["histogram"] = latency();
  return out;
}

bool PairRun::start(End& end, const Json& order) {
  end.says = nullptr;
  auto probe = ProbeProcess::start(ground_.plan.executable, order);
  if (!probe) {
    fail(name(end) + ": " + probe.error().text(), Trouble::tool);
    return false;
  }
  end.probe.emplace(*std::move(probe));
  if (ground_.started) ground_.started(end.endpoint, end.probe->pid());
  return true;
}

void PairRun::begin() {
  for (const End* end : {&client_, &server_})
    if (const RdmaEnd& rdma = ground_.ends[end->endpoint]; rdma.device.empty())
      return fail(rdma.why_not, Trouble::transport);
  const RoundsTiming& timing = ground_.plan.timing;
  deadline_ = now_ns() + ns(timing.start + timing.window + timing.stall + 2 * timing.slack);
  answer_by_ = ~std::uint64_t{0};
  client_.probe.reset();
  client_.says = nullptr;
  server_.probe.reset();
  (void)start(server_, order(Role::server));
}

std::vector<int> PairRun::descriptors() const {
  std::vector<int> out;
  for (const End* end : {&client_, &server_})
    if (!done_ && end->probe && end->probe->descriptor() >= 0) out.push_back(end->probe->descriptor());
  return out;
}

void PairRun::hear_server() {
  for (Json& line : server_.probe->take()) {
    if (text_of(line, "event") != "listening") {
      server_.says = std::move(line);
      continue;
    }
    Json asked = order(Role::client);
    asked["port"] = number_of(line, "port");
    if (!client_.probe && !start(client_, asked)) return;
  }
}

void PairRun::hear_client() {
  for (Json& line : client_.probe->take()) {
    client_.says = std::move(line);
    answer_by_ = now_ns() + answer_ns;
  }
}

void PairRun::check(std::uint64_t now) {
  if (done_) return;
  hear_server();
  if (!done_ && client_.probe) hear_client();
  if (done_) return;
  const bool server_through = !server_.says.is_null() || server_.probe->ended();
  if (!client_.says.is_null() && (server_through || now >= answer_by_)) return finish_repeat();
  if (!client_.probe && server_through)
    return fail(name(server_) + ": " +
                    (server_.says.is_null() ? "the probe " + *server_.probe->ended()
                                            : text_of(server_.says, "error")),
                Trouble::tool);
  if (client_.probe && client_.says.is_null() && client_.probe->ended())
    return fail(name(client_) + ": the probe " + *client_.probe->ended(), Trouble::tool);
  if (now >= deadline_) fail("timed out: a probe did not answer", Trouble::tool);
}

void PairRun::finish_repeat() {
  for (const End* end : {&client_, &server_})
    if (const std::string part = malformed(end->says); !part.empty())
      return fail(name(*end) + ": the probe said \"" + part + "\" that is no JSON object", Trouble::tool);
  take_counters(client_, "client");
  take_counters(server_, "server");
  for (const End* end : {&client_, &server_})
    if (const double waited = real_of(end->says, "waited"); waited > waited_) {
      waited_ = waited;
      waited_at_ = end->endpoint;
    }
  if (!ok(client_.says)) {
    const std::string error = name(client_) + ": " + text_of(client_.says, "error");
    // A probe that was killed is a tool failure, whatever the other end reports.
    if (server_.says.is_null() && server_.probe->ended())
      return fail(name(server_) + ": the probe " + *server_.probe->ended() + "; " + error, Trouble::tool);
    return fail(error, trouble_named(text_of(client_.says, "trouble")));
  }
  take_result();
  if (done_) return;
  if (++repeat_ < ground_.plan.repeats) return begin();
  conclude();
}

void PairRun::take_result() {
  const Json result = client_.says.value("result", Json::object());
  if (latency()) {
    const Histogram seen = histogram_of(result.value("histogram", Json::object()));
    if (seen.count() == 0) return fail(name(client_) + ": the probe reported no latency", Trouble::tool);
    merged_.merge(seen);
  } else {
    const double rate = real_of(result, "bytesPerSecond") * 8;
    if (!(rate > 0)) return fail(name(client_) + ": the probe reported no rate", Trouble::tool);
    made_.seen.samples.push_back(rate);
  }
  made_.path_mtu = static_cast<std::uint32_t>(number_of(client_.says, "pathMtu"));
  const bool ipv6 = ground_.endpoints[client_.endpoint].endpoint.address.find(':') != std::string::npos;
  const ProbeEndpoint& a = ground_.endpoints[client_.endpoint];
  const ProbeEndpoint& b = ground_.endpoints[server_.endpoint];
  const std::uint32_t bytes = ground_.traffic.bytes;
  made_.goodput_share = rocev2_goodput_share(
      {bytes, made_.path_mtu, extended_bytes(ground_.traffic.operation, bytes, made_.path_mtu)},
      Framing{std::max(a.frame_bytes, b.frame_bytes)}, ipv6);
  if (!latency() && a.link_rate != 0 && b.link_rate != 0)
    made_.nominal = static_cast<double>(std::min(a.link_rate, b.link_rate)) * *made_.goodput_share;
  take_notes();
}

// Notes of the pre-check, and resources that the ends did not get (huge pages, their node).
void PairRun::take_notes() {
  made_.note.clear();
  const auto add = [this](const std::string& text) {
    if (!text.empty() && made_.note.find(text) == std::string::npos)
      made_.note += (made_.note.empty() ? "" : "; ") + text;
  };
  if (const auto found = client_.says.find("precheck"); found != client_.says.end() && found->is_array())
    for (const Json& one : *found) add(text_of(one, "text"));
}

void PairRun::take_counters(const End& end, const char* role) {
  if (!end.says.is_object()) return;
  const Json counters = end.says.value("counters", Json::object()).value(role, Json::array());
  if (!counters.is_array()) return;
  for (const Json& one : counters) {
    const std::string counter = text_of(one, "counter");
    const auto signal = rdma::signal_of(counter);
    if (!signal) continue;
    const rdma::Meaning& meaning = rdma::meaning_of(*signal);
    if (meaning.side == rdma::Side::traffic) continue;
    const auto known = std::find_if(
        made_.counters.begin(), made_.counters.end(),
        [&](const CounterMove& move) { return move.end == name(end) && move.counter == counter; });
    if (known != made_.counters.end())
      known->by += number_of(one, "by");
    else
      made_.counters.push_back({name(end), counter, std::string(meaning.name),
                                std::string(rdma::to_string(meaning.side)), std::string(meaning.says),
                                std::string(meaning.points_to), number_of(one, "by")});
  }
}

void PairRun::mark_cpu() {
  made_.cpu_busiest = waited_;
  const double lowest = made_.seen.samples.empty()
                            ? 0
                            : *std::min_element(made_.seen.samples.begin(), made_.seen.samples.end());
  // The same rule as in bench/tcp: what the link limited was not limited by a CPU.
  if (waited_ < kept_waiting || lowest >= 0.95 * made_.nominal.value_or(lowest + 1)) return;
  std::array<char, 128> text{};
  (void)std::snprintf(text.data(), text.size(), "%s waited for a CPU in %.0f%% of the time (limit %.0f%%)",
                      ground_.endpoints[waited_at_].endpoint.name().c_str(), waited_ * 100,
                      kept_waiting * 100);
  made_.cpu_limited = true;
  made_.cpu_reason = text.data();
}

void PairRun::conclude() {
  if (latency()) {
    made_.seen.scale = 1e-9;  // ns -> s; already one way (workload.hpp)
    made_.value = merged_.median().value_or(0) * made_.seen.scale;
    made_.seen.histogram = std::move(merged_);
  } else {
    made_.value = median(made_.seen.samples).value_or(0);
  }
  mark_cpu();
  client_.probe.reset();
  server_.probe.reset();
  done_ = true;
}

void PairRun::fail(const std::string& why, Trouble trouble) {
  made_.trouble = trouble;
  made_.error = why;
  if (repeat_ > 0) made_.error += " (repeat " + std::to_string(repeat_ + 1) + ")";
  made_.seen = {};
  client_.probe.reset();
  server_.probe.reset();
  done_ = true;
}

void PairRun::stop() {
  if (!done_) fail("stopped", Trouble::cancelled);
}

}  // namespace lockstep::bench::verbs
