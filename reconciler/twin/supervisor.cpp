#include "reconciler/twin/supervisor.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "reconciler/twin/agents.hpp"
#include "reconciler/twin/cables.hpp"
#include "reconciler/twin/channel.hpp"
#include "reconciler/twin/daemons.hpp"
#include "reconciler/twin/management.hpp"
#include "reconciler/twin/namespace.hpp"
#include "reconciler/twin/places.hpp"
#include "reconciler/twin/remains.hpp"
#include "reconciler/twin/running_daemons.hpp"
#include "reconciler/twin/state.hpp"
#include "specs/files/replace_file.hpp"

namespace lockstep {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// A client that connects and sends nothing must not block the supervisor for longer than this.
constexpr milliseconds kClientPatience{1000};
// A launcher sends its data immediately.
constexpr milliseconds kLauncherPatience{10'000};

Call within(milliseconds patience) { return Call{steady_clock::now() + patience, {}, -1}; }

nlohmann::json error_line(const Error& error) {
  return {{"error", error.text()}, {"kind", static_cast<int>(error.kind)}};
}

std::string line_of(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

class Supervisor {
 public:
  Supervisor(TwinRecord record, LineChannel launcher)
      : record_(std::move(record)),
        cluster_(record_.layout.cluster),
        asker_(std::move(launcher)),
        daemons_(cluster_) {}

  int run() {
    Result<Done> built = prepare();
    if (built) built = build();
    if (built) built = hand_over();
    if (!built) {
      const Error why = built.error();
      take_away();
      (void)asker_.write_line(line_of(error_line(why)), within(kClientPatience));
      return 1;
    }
    asker_ = LineChannel();
    serve();
    return 0;
  }

 private:
  Result<Done> prepare();
  Result<Done> build();
  Result<Done> make(const TwinRecord& part);
  Result<Done> make_namespaces(const TwinRecord& part, std::map<std::string, MadeNetns>& made);
  Result<Done> make_cables(const TwinRecord& part, std::map<std::string, MadeNetns>& made);
  Result<Done> hand_over();
  void serve();
  void answer(LineChannel client);
  nlohmann::json change_as_asked(const TwinRecord& asked);
  Result<Done> change(const TwinRecord& asked, const TwinChange& change);
  Result<Done> take_out(const TwinChange& change);
  void unmake(const TwinChange& change);
  // What stays of a device that is made anew: its agent's folder, as a disk does.
  enum class Stays { nothing, agent };
  Result<Done> drop_device(const std::string& device, Stays stays = Stays::nothing);
  Result<Done> delay(const std::string& device, milliseconds by);
  TwinReport report() const;
  bool asked_to_stop();
  bool go_on();
  bool tell(const char* step, std::size_t done, std::size_t of);
  void take_away();

  TwinRecord record_;  // what exists now
  std::string cluster_;
  LineChannel asker_;  // the client waiting for the result: the launcher, or the one that requested a change
  Descriptor signals_;
  Descriptor listener_;
  RunningDaemons daemons_;
  std::map<std::string, LateRelay> delayed_;  // by device whose management path it delays
  std::int64_t since_unix_ms_ = unix_ms_now();
  bool stop_ = false;
};

Result<Done> Supervisor::prepare() {
  sigset_t watched;
  ::sigemptyset(&watched);
  for (const int one : {SIGTERM, SIGINT, SIGHUP, SIGCHLD}) ::sigaddset(&watched, one);
  // Blocked, so that they are read from the descriptor; process 1 would not get them by default action at all
  // (pid_namespaces(7)).
  ::sigprocmask(SIG_SETMASK, &watched, nullptr);
  signals_ = Descriptor(::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_) return errno_error("signalfd");
  TRY_DONE(record_supervisor(cluster_));
  // The record is written before anything that it describes.
  return replace_file(twin_places(cluster_).record, to_text(record_) + "\n", {.mode = 0600});
}

Result<Done> Supervisor::build() {
  TRY_DONE(make(record_));
  TRY(listener_, listen_on(twin_places(cluster_).control));
  return Done{};
}

// Creates the devices of that part with their daemons, and its cables, which may end at existing devices.
Result<Done> Supervisor::make(const TwinRecord& part) {
  std::map<std::string, MadeNetns> made;
  if (part.agents) {
    TRY_DONE(make_controller(cluster_));
    TRY_DONE(prepare_authority(part));
  }
  TRY_DONE(make_namespaces(part, made));
  TRY_DONE(make_cables(part, made));
  return daemons_.start(
      daemons_of(part), [this] { return go_on(); },
      [this](std::size_t done, std::size_t of) { tell("daemons", done, of); }, signals_.number());
}

Result<Done> Supervisor::make_namespaces(const TwinRecord& part, std::map<std::string, MadeNetns>& made) {
  const auto& devices = part.layout.devices;
  for (const TwinDevice& device : devices) {
    // Leftovers that a failed change could not remove.
    TRY_DONE(drop_device(device.name, part.agents ? Stays::agent : Stays::nothing));
    TRY_DONE(prepare_run_dir(part, device));
    if (part.agents) TRY_DONE(prepare_agent(part, device));
    TRY(MadeNetns one, create_netns(places(cluster_, device.name).netns, [this] { return go_on(); }));
    if (part.agents) TRY_DONE(connect_management(cluster_, device.name, one));
    made.emplace(device.name, std::move(one));
    if (!tell("namespaces", made.size(), devices.size())) return Error{ErrorKind::cancelled, "stopped"};
  }
  return Done{};
}

Result<Done> Supervisor::make_cables(const TwinRecord& part, std::map<std::string, MadeNetns>& made) {
  std::vector<CableEnds> wirings;
  for (const TwinCable& cable : part.layout.cables) {
    for (const std::string& device : {cable.device_a, cable.device_b}) {
      if (made.contains(device)) continue;
      TRY(MadeNetns one, reopen_netns(places(cluster_, device).netns));
      made.emplace(device, std::move(one));
    }
    wirings.push_back({&cable, &made.at(cable.device_a), &made.at(cable.device_b)});
  }
  return wire(wirings, [&](std::size_t done) { return tell("cables", done, wirings.size()); });
}

// Ready; the twin stays only if the launcher is still there to confirm it.
Result<Done> Supervisor::hand_over() {
  const nlohmann::json ready{{"ready", true}, {"supervisor", outer_pid_of_self()}};
  TRY_DONE(asker_.write_line(ready.dump(), within(kLauncherPatience)));
  TRY(const std::string said, asker_.read_line(within(kLauncherPatience)));
  if (said != "keep") return Error{ErrorKind::cancelled, "the launcher does not keep the twin"};
  return Done{};
}

void Supervisor::serve() {
  while (!stop_) {
    std::array<pollfd, 2> waits{{{signals_.number(), POLLIN, 0}, {listener_.number(), POLLIN, 0}}};
    if (::poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) break;
    if (asked_to_stop()) break;
    daemons_.reap();
    if (auto client = accept_own(listener_)) answer(*std::move(client));
  }
  // A client that requested the stop sees the end of the process, not an early answer.
  take_away();
}

void Supervisor::answer(LineChannel client) {
  auto line = client.read_line(within(kClientPatience));
  if (!line) return;
  const nlohmann::json asked = nlohmann::json::parse(*line, nullptr, false);
  const auto text = [&](const char* key) {
    const auto at = asked.is_object() ? asked.find(key) : asked.end();
    return asked.is_object() && at != asked.end() && at->is_string() ? at->get<std::string>() : std::string();
  };
  std::string reply;
  if (text("op") == "status") {
    reply = to_text(report());
  } else if (text("op") == "stop") {
    stop_ = true;
    reply = nlohmann::json{{"stopping", true}}.dump();
  } else if (text("op") == "restart") {
    const auto started = daemons_.restart(text("device"), text("daemon"));
    reply = line_of(started ? nlohmann::json{{"started", true}} : error_line(started.error()));
  } else if (text("op") == "delay") {
    const auto by = asked.find("ms");
    const bool known = by != asked.end() && by->is_number_integer();
    const auto done = known ? delay(text("device"), milliseconds(by->get<std::int64_t>()))
                            : Result<Done>(Error{ErrorKind::invalid_spec, "no delay"});
    reply = line_of(done ? nlohmann::json{{"delayed", true}} : error_line(done.error()));
  } else if (text("op") == "change") {
    const Result<TwinRecord> record = from_text(text("record"));
    asker_ = std::move(client);
    reply = line_of(record ? change_as_asked(*record) : error_line(record.error()));
    client = std::exchange(asker_, LineChannel());
  } else {
    reply = line_of(error_line({ErrorKind::unsupported, "unknown op"}));
  }
  (void)client.write_line(reply, within(kClientPatience));
}

// Specs can't change these properties of a running twin.
Result<Done> same_conduct(const TwinRecord& running, const TwinRecord& asked) {
  if (asked.layout.cluster != running.layout.cluster)
    return Error{ErrorKind::conflict, "this is twin " + running.layout.cluster};
  if (asked.lldp != running.lldp)
    return Error{ErrorKind::conflict,
                 running.lldp
                     ? "it runs with LLDP and is asked for without: leave --no-lldp out, or take it "
                       "down first"
                     : "it runs without LLDP and is asked for with it: give --no-lldp again, or take "
                       "it down first"};
  if (asked.agents != running.agents)
    return Error{ErrorKind::conflict, running.agents ? "it runs with agents and is asked for without: give "
                                                       "--agents again, or take it down first"
                                                     : "it runs without agents and is asked for with them: "
                                                       "leave --agents out, or take it down first"};
  if (asked.frr_profile != running.frr_profile)
    return Error{ErrorKind::conflict, "it runs with FRR's profile " + running.frr_profile +
                                          " and is asked for with " + asked.frr_profile +
                                          ": take it down first"};
  return Done{};
}

nlohmann::json Supervisor::change_as_asked(const TwinRecord& asked) {
  if (const auto same = same_conduct(record_, asked); !same) return error_line(same.error());
  const TwinLayout stands = standing(record_.layout);
  const TwinChange todo = change_between(record_.layout, stands, asked.layout);
  const std::uint64_t link_rate_was = record_.link_rate;
  Result<Done> done = change(asked, todo);
  // Also after a partial change: the record describes what exists.
  if (auto kept = replace_file(twin_places(cluster_).record, to_text(record_) + "\n", {.mode = 0600});
      done && !kept)
    done = std::move(kept.error());
  if (!done) return error_line(done.error());
  nlohmann::json out{{"changed", true}, {"supervisor", outer_pid_of_self()}, {"linkRateWas", link_rate_was}};
  for (const char* const list : {"made", "gone"}) out[list] = nlohmann::json::array();
  for (const TwinDevice& one : todo.devices_gone) out["gone"].push_back(piece_text(one));
  for (const TwinCable& one : todo.cables_gone) out["gone"].push_back(piece_text(one));
  for (const TwinDevice& one : todo.devices_made) out["made"].push_back(piece_text(one));
  for (const TwinCable& one : todo.cables_made) out["made"].push_back(piece_text(one));
  return out;
}

// Removals come first, so that the name of a port that is cabled elsewhere is free by then. Each piece is
// created whole or not at all; a change that fails or is interrupted therefore leaves a twin of whole devices
// and cables, which record_ describes, and the next change continues from there.
Result<Done> Supervisor::change(const TwinRecord& asked, const TwinChange& todo) {
  TRY_DONE(take_out(todo));
  TwinRecord part = asked;
  part.layout.devices = todo.devices_made;
  part.layout.cables = todo.cables_made;
  if (auto made = make(part); !made) {
    unmake(todo);
    return made;
  }
  record_ = asked;
  return Done{};
}

Result<Done> Supervisor::take_out(const TwinChange& todo) {
  const std::size_t all = todo.cables_gone.size() + todo.devices_gone.size();
  std::size_t done = 0;
  for (const TwinCable& cable : todo.cables_gone) {
    TRY_DONE(unwire(cluster_, cable));
    std::erase_if(record_.layout.cables,
                  [&](const TwinCable& one) { return piece_text(one) == piece_text(cable); });
    if (!tell("taken away", ++done, all)) return Error{ErrorKind::cancelled, "stopped"};
  }
  for (const TwinDevice& device : todo.devices_gone) {
    const auto is_it = [&](const TwinDevice& one) { return one.name == device.name; };
    std::erase_if(record_.layout.devices, is_it);
    const bool again = std::ranges::any_of(todo.devices_made, is_it);
    TRY_DONE(drop_device(device.name, again ? Stays::agent : Stays::nothing));
    if (!tell("taken away", ++done, all)) return Error{ErrorKind::cancelled, "stopped"};
  }
  return Done{};
}

void Supervisor::unmake(const TwinChange& todo) {
  const auto note = [](const Result<Done>& done) {
    if (!done) (void)::dprintf(2, "%s\n", done.error().text().c_str());
  };
  for (const TwinCable& cable : todo.cables_made) note(unwire(cluster_, cable));
  for (const TwinDevice& device : todo.devices_made) note(drop_device(device.name));
}

// Removes all remains of a device that record_ does not contain.
Result<Done> Supervisor::drop_device(const std::string& device, Stays stays) {
  const DevicePlaces at = places(cluster_, device);
  daemons_.end(device);
  if (delayed_.contains(device)) TRY_DONE(delay(device, milliseconds::zero()));
  TRY_DONE(delete_netns(at.netns));
  std::vector<std::string> folders{at.run_dir};
  if (stays == Stays::nothing) folders.push_back(at.agent_dir);
  std::error_code failed;
  for (const std::string& folder : folders) {
    std::filesystem::remove_all(folder, failed);  // does not follow links
    if (failed) return Error{ErrorKind::refused, "remove " + folder + ": " + failed.message()};
  }
  return Done{};
}

// Of the management path, each way; zero: as it was.
Result<Done> Supervisor::delay(const std::string& device, milliseconds by) {
  delayed_.erase(device);
  if (by <= milliseconds::zero()) return undelay_management(cluster_, device);
  TRY(LateRelay relay, delay_management(cluster_, device, by));
  delayed_[device] = std::move(relay);
  return Done{};
}

TwinReport Supervisor::report() const {
  TwinReport out;
  out.cluster = cluster_;
  out.alive = true;
  out.digest = digest_of(record_);
  out.supervisor = outer_pid_of_self();
  out.since_unix_ms = since_unix_ms_;
  out.record = record_;
  out.daemons = daemons_.states();
  return out;
}

bool Supervisor::asked_to_stop() {
  signalfd_siginfo one{};
  while (::read(signals_.number(), &one, sizeof(one)) == static_cast<ssize_t>(sizeof(one)))
    if (one.ssi_signo != SIGCHLD) stop_ = true;
  return stop_;
}

// While something is created: false if a stop was requested or the waiting client is gone.
bool Supervisor::go_on() {
  if (asked_to_stop()) return false;
  pollfd asker{asker_.descriptor(), POLLIN | POLLRDHUP, 0};
  // It sends nothing meanwhile, so any event means that it has ended.
  return ::poll(&asker, 1, 0) == 0;
}

bool Supervisor::tell(const char* step, std::size_t done, std::size_t of) {
  const nlohmann::json line{{"step", step}, {"done", done}, {"of", of}};
  (void)asker_.write_line(line.dump(), within(kClientPatience));
  return go_on();
}

void Supervisor::take_away() {
  daemons_.end_all();
  if (auto clean = clean_remains(cluster_, Leave::nothing); !clean)
    (void)::dprintf(2, "%s\n", clean.error().text().c_str());
}

// From the launcher, before anything else. A launcher that ends first has created only the lock.
Result<TwinRecord> read_record(LineChannel& launcher) {
  TRY(const std::string line, launcher.read_line(within(kLauncherPatience)));
  return from_text(line);
}

}  // namespace

int supervisor_main() {
  // Neither is for the daemons. No other descriptor has these numbers in a program that has just started.
  for (const int one : {kSupervisorLock, kSupervisorLauncher}) {
    if (::fcntl(one, F_SETFD, FD_CLOEXEC) == 0) continue;
    (void)::dprintf(2, "%s is no command for people: `lockstep twin up` starts it\n", kSupervisorWord);
    return 1;
  }
  (void)::chdir("/");
  ::umask(022);
  // The PID namespace applies to the next child; this process exits at once, so that the supervisor is
  // reparented here. It has one thread, because it has just been executed.
  if (::unshare(CLONE_NEWPID) != 0) return 1;
  const pid_t child = ::fork();
  if (child != 0) ::_exit(child < 0 ? 1 : 0);
  LineChannel launcher{Descriptor(kSupervisorLauncher)};
  auto record = read_record(launcher);
  if (!record) ::_exit(1);
  ::_exit(Supervisor(*std::move(record), std::move(launcher)).run());
}

}  // namespace lockstep
