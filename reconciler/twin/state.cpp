#include "reconciler/twin/state.hpp"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

namespace lockstep {
namespace {

DaemonLife life_from(std::string_view text) {
  for (const DaemonLife one : {DaemonLife::starting, DaemonLife::running, DaemonLife::stopped})
    if (text == to_string(one)) return one;
  return DaemonLife::ended;
}

}  // namespace

std::string_view to_string(DaemonLife life) {
  switch (life) {
    case DaemonLife::starting: return "starting";
    case DaemonLife::running: return "running";
    case DaemonLife::stopped: return "stopped";
    case DaemonLife::ended: return "ended";
  }
  return "ended";
}

bool TwinReport::sound() const {
  return alive && lost_cables.empty() &&
         std::all_of(daemons.begin(), daemons.end(),
                     [](const DaemonState& one) { return one.life == DaemonLife::running; });
}

std::string to_text(const TwinReport& report) {
  nlohmann::json out{{"cluster", report.cluster},       {"alive", report.alive},
                     {"digest", report.digest},         {"supervisor", report.supervisor},
                     {"sinceMs", report.since_unix_ms}, {"record", to_text(report.record)}};
  out["daemons"] = nlohmann::json::array();
  for (const DaemonState& one : report.daemons)
    out["daemons"].push_back({{"device", one.device},
                              {"name", one.name},
                              {"pid", one.pid},
                              {"life", to_string(one.life)},
                              {"how", one.how},
                              {"sinceMs", one.since_unix_ms}});
  return out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<TwinReport> report_from_text(std::string_view text) {
  const nlohmann::json in = nlohmann::json::parse(text, nullptr, false);
  TwinReport out;
  // nlohmann's typed reads throw on a wrong type; what comes from a socket is input.
  try {
    out.cluster = in.at("cluster").get<std::string>();
    out.alive = in.at("alive").get<bool>();
    out.digest = in.at("digest").get<std::string>();
    out.supervisor = in.at("supervisor").get<pid_t>();
    out.since_unix_ms = in.at("sinceMs").get<std::int64_t>();
    TRY(out.record, from_text(in.at("record").get<std::string>()));
    for (const auto& one : in.at("daemons"))
      out.daemons.push_back({one.at("device").get<std::string>(), one.at("name").get<std::string>(),
                             one.at("pid").get<pid_t>(), life_from(one.at("life").get<std::string>()),
                             one.at("how").get<std::string>(), one.at("sinceMs").get<std::int64_t>()});
  } catch (const nlohmann::json::exception&) {
    return Error{ErrorKind::transient, "twin: the supervisor's answer can't be read"};
  }
  return out;
}

std::int64_t unix_ms_now() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

}  // namespace lockstep
