#include "reconciler/twin/twin.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

extern "C" {
#include <sys/pidfd.h>  // glibc 2.36 declares C functions there without saying so
}

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "drivers/posix/wait.hpp"
#include "reconciler/twin/cables.hpp"
#include "reconciler/twin/channel.hpp"
#include "reconciler/twin/daemons.hpp"
#include "reconciler/twin/namespace.hpp"
#include "reconciler/twin/remains.hpp"
#include "reconciler/twin/saved_config.hpp"
#include "reconciler/twin/sonic_device.hpp"
#include "reconciler/twin/supervisor.hpp"
#include "specs/files/read_file.hpp"

namespace lockstep {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// The supervisor answers in well under a millisecond, but restarting a daemon can occupy it for 5 s.
constexpr milliseconds kAnswerPatience{8000};
// Removing 76 namespaces and 48 daemons takes under a second on two cores.
constexpr milliseconds kEndPatience{20'000};

Call within(milliseconds patience, std::stop_token stop = {}) {
  return Call{steady_clock::now() + patience, std::move(stop), -1};
}

nlohmann::json parsed(const std::string& line) {
  nlohmann::json out = nlohmann::json::parse(line, nullptr, false);
  return out.is_object() ? out : nlohmann::json::object();
}

template <class T>
T field(const nlohmann::json& from, const char* key, T otherwise) {
  const auto at = from.find(key);
  if (at == from.end()) return otherwise;
  if constexpr (std::is_same_v<T, std::string>)
    return at->is_string() ? at->template get<T>() : otherwise;
  else
    return at->is_number() || at->is_boolean() ? at->template get<T>() : otherwise;
}

Error error_in(const nlohmann::json& line) {
  const int kind = field(line, "kind", static_cast<int>(ErrorKind::refused));
  const bool known = kind >= 0 && kind <= static_cast<int>(ErrorKind::cancelled);
  return Error{known ? static_cast<ErrorKind>(kind) : ErrorKind::refused,
               field(line, "error", std::string("the supervisor gave no reason"))};
}

Result<std::string> ask(const std::string& cluster, const nlohmann::json& request,
                        milliseconds patience = kAnswerPatience) {
  TRY_DONE(check_own(cluster));
  const Call call = within(patience);
  TRY(LineChannel channel, connect_to(twin_places(cluster).control));
  TRY_DONE(channel.write_line(request.dump(), call));
  return channel.read_line(call);
}

// Waits until the process is gone; `kill` ends it first. True: it is gone. A pid that belongs to another
// process by now counts as gone.
Result<bool> await_end(const ProcessIdentity& who, bool kill, milliseconds patience) {
  const Descriptor process(::pidfd_open(who.pid, 0));
  if (!process) return true;
  const auto now = identity_of(who.pid);
  if (!now || now->started != who.started) return true;
  if (kill && ::pidfd_send_signal(process.number(), SIGKILL, nullptr, 0) != 0 && errno != ESRCH)
    return errno_error("kill the supervisor");
  pollfd ended{process.number(), POLLIN, 0};
  return ::poll(&ended, 1, static_cast<int>(patience.count())) > 0;
}

// Reads the supervisor's lines up to the first one that is not progress.
Result<nlohmann::json> follow(LineChannel& supervisor, const TwinProgressSink& progress, const Call& call) {
  for (;;) {
    TRY(const std::string line, supervisor.read_line(call));
    nlohmann::json said = parsed(line);
    if (said.contains("error")) return error_in(said);
    if (!said.contains("step")) return said;
    if (progress)
      progress({field(said, "step", std::string()), field(said, "done", std::size_t{0}),
                field(said, "of", std::size_t{0}), ""});
  }
}

// Closing this end makes the supervisor stop and remove what it has created; this waits for that. Returns its
// answer if it had already finished; none: no answer.
std::optional<nlohmann::json> give_up(LineChannel& supervisor) {
  ::shutdown(supervisor.descriptor(), SHUT_WR);
  const Call call = within(kEndPatience);
  std::optional<nlohmann::json> out;
  while (const auto line = supervisor.read_line(call))
    if (nlohmann::json said = parsed(*line); said.contains("changed")) out = std::move(said);
  return out;
}

std::vector<std::string> words_in(const nlohmann::json& said, const char* list) {
  std::vector<std::string> out;
  if (const auto at = said.find(list); at != said.end() && at->is_array())
    for (const nlohmann::json& one : *at)
      if (one.is_string()) out.push_back(one.get<std::string>());
  return out;
}

// For a supervisor of an older lockstep, which does not support changes.
Result<TwinHandle> join_unchanged(const TwinReport& running, const TwinRecord& asked) {
  auto different = differences(running.record, asked, 8);
  if (asked.link_rate != running.record.link_rate) different.emplace_back("another link rate");
  if (different.empty()) return TwinHandle{.cluster = running.cluster, .was_up = true};
  return Error{ErrorKind::conflict,
               fmt::format("twin {} was brought up by another lockstep, which can't change it while it is up "
                           "({}): take it down first",
                           running.cluster, fmt::join(different, "; "))};
}

// Changes a running twin to the requested one.
Result<TwinHandle> change_running(const TwinRecord& asked, const TwinProgressSink& progress,
                                  const Call& call) {
  const std::string& cluster = asked.layout.cluster;
  const auto running = status(cluster);
  if (!running || !running->alive)
    return Error{ErrorKind::transient, "twin " + cluster + " is being started or stopped by another command"};
  TRY(LineChannel supervisor, connect_to(twin_places(cluster).control));
  TRY_DONE(supervisor.write_line(nlohmann::json{{"op", "change"}, {"record", to_text(asked)}}.dump(),
                                 within(kAnswerPatience)));
  Result<nlohmann::json> said = follow(supervisor, progress, call);
  if (!said) {
    if (said.error().kind == ErrorKind::unsupported) return join_unchanged(*running, asked);
    std::optional<nlohmann::json> late = give_up(supervisor);
    if (said.error().kind == ErrorKind::conflict) return wrap("twin " + cluster, std::move(said.error()));
    if (!late)
      return wrap(
          "twin " + cluster +
              " was not changed to the end; `lockstep twin up` goes on from where it is, `lockstep twin "
              "down` takes it away",
          std::move(said.error()));
    said = *std::move(late);
  }
  TwinHandle out{.cluster = cluster, .was_up = true, .supervisor = running->supervisor};
  out.made = words_in(*said, "made");
  out.gone = words_in(*said, "gone");
  out.link_rate = asked.link_rate;
  out.link_rate_was = field(*said, "linkRateWas", std::uint64_t{0});
  return out;
}

}  // namespace

Result<TwinHandle> up(const TwinLayout& layout, const TwinOptions& options, const TwinProgressSink& progress,
                      const std::stop_token& stop) {
  const auto begin = steady_clock::now();
  TRY_DONE(validate(layout));
  const TwinRecord record{.layout = layout,
                          .lldp = options.lldp,
                          .agents = options.agents,
                          .frr_profile = options.frr_profile,
                          .name = options.name,
                          .folder = options.folder,
                          .link_rate = options.link_rate};
  TRY_DONE(preflight(record));
  TRY(std::optional<Descriptor> lock, claim(layout.cluster));
  if (!lock) {
    TRY(TwinHandle changed, change_running(record, progress, within(options.ready_within, stop)));
    changed.took = std::chrono::duration_cast<milliseconds>(steady_clock::now() - begin);
    return changed;
  }
  TwinHandle out;
  out.cluster = layout.cluster;
  out.cleaned = remains_of(layout.cluster);
  for (std::size_t i = 0; progress && i < out.cleaned.size(); ++i)
    progress({"cleaning", i + 1, out.cleaned.size(), out.cleaned[i]});
  TRY_DONE(clean_remains(layout.cluster, Leave::lock));
  auto launched = launch_supervisor(options.executable, record, *lock);
  if (!launched) {
    TRY_DONE(clean_remains(layout.cluster, Leave::nothing));
    return std::move(launched.error());
  }
  lock.reset();
  LineChannel supervisor = *std::move(launched);
  auto ready = follow(supervisor, progress, within(options.ready_within, stop));
  if (ready && stop.stop_requested()) ready = Error{ErrorKind::cancelled, "asked to stop"};
  if (ready) {
    if (auto kept = supervisor.write_line("keep", within(kAnswerPatience)); !kept)
      ready = std::move(kept.error());
  }
  if (!ready) {
    give_up(supervisor);
    return wrap("twin " + layout.cluster + " was not brought up, and nothing of it is left",
                std::move(ready.error()));
  }
  out.supervisor = static_cast<pid_t>(field(*ready, "supervisor", -1));
  out.took = std::chrono::duration_cast<milliseconds>(steady_clock::now() - begin);
  return out;
}

Result<TwinReport> status(const std::string& cluster) {
  TRY_DONE(validate_cluster_id(cluster));
  TRY_DONE(check_own(cluster));
  const std::vector<std::string> there = remains_of(cluster);
  if (there.empty())
    return Error{ErrorKind::refused, "there is no twin " + cluster + ": `lockstep twin up` makes it"};
  if (auto line = ask(cluster, {{"op", "status"}})) return report_from_text(*line);
  // No answer: dead, not started yet, or stuck. The lock distinguishes a dead one from the others.
  TRY(std::optional<Descriptor> lock, claim(cluster));
  if (!lock)
    return Error{ErrorKind::transient, "twin " + cluster + " is starting, stopping or does not answer"};
  if (remains_of(cluster).empty()) {  // it went down meanwhile, and claim() has created its directory again
    TRY_DONE(clean_remains(cluster, Leave::nothing));
    return Error{ErrorKind::refused, "twin " + cluster + " has just gone down"};
  }
  TwinReport out;
  out.cluster = cluster;
  out.left_behind = there;
  return out;
}

std::optional<TwinRecord> recorded_twin(const std::string& cluster) {
  if (!check_own(cluster)) return std::nullopt;
  constexpr std::size_t kLargest = std::size_t{64} << 20;  // chosen: thousands of devices and their ports
  Result<TwinRecord> record = from_text(read_named(twin_places(cluster).record, kLargest).text);
  return record ? std::optional(*std::move(record)) : std::nullopt;
}

Result<TwinReport> examine(const std::string& cluster) {
  TRY(TwinReport out, status(cluster));
  if (out.alive) out.lost_cables = lost_cables(out.record.layout);
  return out;
}

Result<TwinGone> down(const std::string& cluster, milliseconds patience) {
  TRY_DONE(validate_cluster_id(cluster));
  TRY_DONE(check_own(cluster));
  TwinGone out;
  std::error_code ignored;
  if (remains_of(cluster).empty() && !std::filesystem::exists(twin_places(cluster).run_dir, ignored))
    return out;
  TRY(std::optional<Descriptor> lock, claim(cluster));
  if (!lock) {
    out.was_up = true;
    const auto supervisor = recorded_supervisor(cluster);
    const auto answered = ask(cluster, {{"op", "stop"}}, patience);
    if (supervisor) {
      TRY(bool gone, await_end(*supervisor, !answered, kEndPatience));
      out.killed = !answered;
      if (!gone) {
        TRY(gone, await_end(*supervisor, true, kEndPatience));
        out.killed = true;
      }
      if (!gone)
        return Error{ErrorKind::transient,
                     fmt::format("the supervisor (pid {}) does not end", supervisor->pid)};
    }
    if (remains_of(cluster).empty() && !std::filesystem::exists(twin_places(cluster).run_dir, ignored))
      return out;
    TRY(lock, claim(cluster));
    if (!lock)
      return Error{ErrorKind::transient,
                   "twin " + cluster + " is being started or stopped by another command"};
  }
  out.cleaned = remains_of(cluster);
  TRY_DONE(clean_remains(cluster, Leave::nothing));
  return out;
}

Result<Done> restart_daemon(const std::string& cluster, const std::string& device,
                            const std::string& daemon) {
  TRY_DONE(validate_cluster_id(cluster));
  TRY(const std::string line, ask(cluster, {{"op", "restart"}, {"device", device}, {"daemon", daemon}}));
  const nlohmann::json said = parsed(line);
  if (said.contains("error")) return error_in(said);
  const DevicePlaces at = places(cluster, device);
  // Those have no configuration of FRR's.
  for (const char* const other : {"lldpd", "agent", kSonicRedis, kSonicStandIn})
    if (daemon == other) return Done{};
  return tell_saved_config(at.run_dir, at.frr_config, daemon, within(kAnswerPatience));
}

Result<Done> set_management_delay(const std::string& cluster, const std::string& device, milliseconds delay) {
  TRY_DONE(validate_cluster_id(cluster));
  TRY(const std::string line, ask(cluster, {{"op", "delay"}, {"device", device}, {"ms", delay.count()}}));
  const nlohmann::json said = parsed(line);
  if (said.contains("error")) return error_in(said);
  return Done{};
}

}  // namespace lockstep
