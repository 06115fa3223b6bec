// Replies of daemons and benchmark probes: FRR's text and JSON, the probes' messages.
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "bench/tcp/wire.hpp"
#include "drivers/frr/remedy.hpp"
#include "drivers/frr/running_config.hpp"
#include "drivers/frr/speaker.hpp"
#include "drivers/frr/state.hpp"
#include "tests/fuzz/parsers.hpp"

namespace lockstep::fuzzing {

void parse_frr(std::string_view input) {
  (void)frr::max_paths_built_in(input);
  (void)frr::bgp_sessions_of(input);
  (void)frr::bgp_timers_of(input);
  (void)frr::bfd_sessions_of(input);
  (void)frr::route_view_of(input, "10.64.0.0/25");
  const Result<frr::RunningConfig> config = frr::parse_running_config(input);
  if (!config) return;
  (void)frr::speaker_of(*config, 64);
  (void)frr::bfd_profiles_of(*config);
  const Result<frr::RunningConfig> printed = frr::parse_running_config(frr::print(*config));
  must(static_cast<bool>(printed), "what is printed is a running-config");
  must(printed->version == config->version && printed->lines.size() == config->lines.size(),
       "what is printed has all that was read");
  const Result<frr::RunningConfig> again = frr::parse_running_config(frr::print(*printed));
  must(again && *again == *printed, "what is printed, read and printed again is the same");
}

void parse_probe(std::string_view input) {
  bench::MessageReader reader;
  reader.feed(input.data(), input.size() / 2);
  (void)reader.next();
  reader.feed(input.data() + input.size() / 2, input.size() - input.size() / 2);
  Result<std::optional<bench::Json>> message = reader.next();
  if (!message || !*message) return;
  const bench::Json& told = **message;
  (void)bench::text_of(told, "what");
  (void)bench::number_of(told, "bytes");
  (void)bench::real_of(told, "seconds");
  (void)bench::reals_of(told, "rates");
  const bench::Histogram seen = bench::histogram_of(told);
  const bench::Histogram again = bench::histogram_of(bench::to_json(seen));
  must(again == seen, "a histogram that is told again is the same");
  bench::MessageReader back;
  const std::string bytes = bench::framed(told);
  back.feed(bytes.data(), bytes.size());
  const Result<std::optional<bench::Json>> whole = back.next();
  must(whole && *whole, "a message that is told again is one");
}

std::vector<std::string> seeds_of_frr() {
  std::vector<std::string> out;
  for (const auto& entry :
       std::filesystem::directory_iterator(LOCKSTEP_SOURCE_DIR "/tests/unit/frr/recorded")) {
    std::ostringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    out.push_back(text.str());
  }
  return out;
}

std::vector<std::string> seeds_of_probe() {
  bench::Histogram seen;
  for (const std::uint64_t value : {1U, 255U, 256U, 70'000U, 4'000'000'000U}) seen.record(value, 3);
  bench::Json message = bench::to_json(seen);
  message["what"] = "latency";
  message["seconds"] = 1.5;
  message["rates"] = {1.0, 2.5};
  return {bench::framed(message), bench::framed(bench::Json::object())};
}

}  // namespace lockstep::fuzzing
