// A stub of systemd's manager on its own message bus (dbus-daemon), for tests: it answers the calls of
// org.freedesktop.systemd1 that lockstep makes and keeps units in memory. No unit is ever started.
#pragma once

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace lockstep {

class StubSystemd {
 public:
  struct Unit {
    std::string active;  // ActiveState
    std::string file;    // UnitFileState
    std::string job = "done";
  };

  // Why the stub cannot run here; empty if it can.
  static std::string impossible() {
    return std::filesystem::exists("/usr/bin/dbus-daemon") ? "" : "dbus-daemon is not installed";
  }

  explicit StubSystemd(const std::filesystem::path& root) : socket_(root / "run/dbus/system_bus_socket") {
    std::filesystem::create_directories(socket_.parent_path());
    std::filesystem::create_directories(root / "run/systemd/system");
    const std::filesystem::path config = root / "bus.conf";
    std::ofstream(config) << "<busconfig><type>session</type><listen>unix:path=" << socket_.string()
                          << "</listen><policy context='default'><allow send_destination='*'/>"
                             "<allow own='*'/><allow receive_sender='*'/></policy></busconfig>";
    std::string file = "--config-file=" + config.string();
    std::string words[] = {"dbus-daemon", "--nofork", "--nopidfile"};
    char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), file.data(), nullptr};
    posix_spawn_file_actions_t quiet;
    ::posix_spawn_file_actions_init(&quiet);
    ::posix_spawn_file_actions_addopen(&quiet, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    started_ = ::posix_spawn(&daemon_, "/usr/bin/dbus-daemon", &quiet, nullptr, arguments, environ) == 0;
    ::posix_spawn_file_actions_destroy(&quiet);
    thread_ = std::thread([this] { serve(); });
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (started_ && !ready_ && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  }
  StubSystemd(const StubSystemd&) = delete;
  StubSystemd& operator=(const StubSystemd&) = delete;
  ~StubSystemd() {
    stop_ = true;
    thread_.join();
    if (!started_) return;
    ::kill(daemon_, SIGTERM);
    ::waitpid(daemon_, nullptr, 0);
  }

  bool ready() const { return ready_; }
  void set(const std::string& name, Unit unit) {
    const std::lock_guard lock(mutex_);
    units_[name] = std::move(unit);
  }
  Unit unit(const std::string& name) {
    const std::lock_guard lock(mutex_);
    return units_[name];
  }
  // From now on the stub receives calls but does not answer them.
  void fall_silent() { silent_ = true; }

 private:
  void serve() {
    sd_bus* bus = nullptr;
    const std::string address = "unix:path=" + socket_.string();
    while (!stop_ && !open(bus, address)) std::this_thread::yield();
    while (!stop_) {
      if (::sd_bus_process(bus, nullptr) == 0) ::sd_bus_wait(bus, 10'000);
    }
    ::sd_bus_flush_close_unref(bus);
  }

  bool open(sd_bus*& bus, const std::string& address) {
    ::sd_bus_new(&bus);
    ::sd_bus_set_address(bus, address.c_str());
    ::sd_bus_set_bus_client(bus, 1);
    ready_ = ::sd_bus_start(bus) >= 0 && ::sd_bus_request_name(bus, "org.freedesktop.systemd1", 0) >= 0 &&
             ::sd_bus_add_filter(bus, nullptr, on_message, this) >= 0;
    if (!ready_) bus = ::sd_bus_close_unref(bus);
    return ready_;
  }

  static int on_message(sd_bus_message* message, void* self, sd_bus_error*) {
    std::uint8_t type = 0;
    ::sd_bus_message_get_type(message, &type);
    if (type != SD_BUS_MESSAGE_METHOD_CALL) return 0;
    auto& stub = *static_cast<StubSystemd*>(self);
    if (!stub.silent_) stub.answer(message, ::sd_bus_message_get_member(message));
    return 1;
  }

  void answer(sd_bus_message* call, const std::string& method) {
    const std::lock_guard lock(mutex_);
    if (method == "ListUnitsByNames") return list(call);
    if (method == "Get") return get(call);
    if (method == "StartUnit" || method == "StopUnit") return run(call, method == "StartUnit");
    if (method == "EnableUnitFiles" || method == "DisableUnitFiles") return enable(call, method[0] == 'E');
    if (method == "ResetFailedUnit") {
      const char* name = nullptr;
      ::sd_bus_message_read(call, "s", &name);
      if (units_[name].active == "failed") units_[name].active = "inactive";
    }
    ::sd_bus_reply_method_return(call, "");  // Subscribe, Reload
  }

  static std::string object_of(const std::string& name) {
    std::string out = "/org/freedesktop/systemd1/unit/";
    for (const char one : name) out += (one == '.' || one == '-') ? '_' : one;
    return out;
  }

  void list(sd_bus_message* call) {
    char** names = nullptr;
    ::sd_bus_message_read_strv(call, &names);
    sd_bus_message* reply = nullptr;
    ::sd_bus_message_new_method_return(call, &reply);
    ::sd_bus_message_open_container(reply, 'a', "(ssssssouso)");
    for (char** name = names; *name != nullptr; ++name) {
      const auto unit = units_.find(*name);
      const bool found = unit != units_.end();
      ::sd_bus_message_append(reply, "(ssssssouso)", *name, "", found ? "loaded" : "not-found",
                              found ? unit->second.active.c_str() : "inactive", "", "",
                              object_of(*name).c_str(), 0, "", "/");
      ::free(*name);
    }
    ::free(names);
    ::sd_bus_message_close_container(reply);
    ::sd_bus_send(nullptr, reply, nullptr);
    ::sd_bus_message_unref(reply);
  }

  void get(sd_bus_message* call) {
    for (const auto& [name, unit] : units_)
      if (object_of(name) == ::sd_bus_message_get_path(call)) {
        ::sd_bus_reply_method_return(call, "v", "s", unit.file.c_str());
        return;
      }
    ::sd_bus_reply_method_errorf(call, "org.freedesktop.systemd1.NoSuchUnit", "Unit not found.");
  }

  // Sends the signal before the reply to a stop and after the reply to a start: systemd does both.
  void run(sd_bus_message* call, bool start) {
    const char* name = nullptr;
    const char* mode = nullptr;
    ::sd_bus_message_read(call, "ss", &name, &mode);
    Unit& unit = units_[name];
    const std::string job = "/org/freedesktop/systemd1/job/" + std::to_string(++jobs_);
    if (unit.job == "done") unit.active = start ? "active" : unit.active == "failed" ? "failed" : "inactive";
    if (start) ::sd_bus_reply_method_return(call, "o", job.c_str());
    if (unit.job != "never")
      ::sd_bus_emit_signal(::sd_bus_message_get_bus(call), "/org/freedesktop/systemd1",
                           "org.freedesktop.systemd1.Manager", "JobRemoved", "uoss", jobs_, job.c_str(), name,
                           unit.job.c_str());
    if (!start) ::sd_bus_reply_method_return(call, "o", job.c_str());
  }

  void enable(sd_bus_message* call, bool on) {
    char** names = nullptr;
    ::sd_bus_message_read_strv(call, &names);
    Unit& unit = units_[names[0]];
    const std::string name = names[0];
    ::free(names[0]);
    ::free(names);
    if (unit.file == "masked") {
      ::sd_bus_reply_method_errorf(call, "org.freedesktop.systemd1.UnitMasked", "Unit file %s is masked.",
                                   name.c_str());
      return;
    }
    if (unit.file != "static") unit.file = on ? "enabled" : "disabled";
    if (on)
      ::sd_bus_reply_method_return(call, "ba(sss)", 1, 0);
    else
      ::sd_bus_reply_method_return(call, "a(sss)", 0);
  }

  std::filesystem::path socket_;
  pid_t daemon_ = 0;
  bool started_ = false;
  std::mutex mutex_;
  std::map<std::string, Unit> units_;
  std::uint32_t jobs_ = 0;
  std::atomic<bool> ready_{false};
  std::atomic<bool> silent_{false};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace lockstep
