// systemd's manager over the system bus: reads and changes the state of units.
//
// The interface is org.freedesktop.systemd1(5), over sd-bus(3). Promises: every wait polls the call's
// deadline and wake descriptor; a start or stop is complete when systemd has reported its job's result. A
// reply that does not have the interface's types is an error. Refuses to continue after a modifying request
// was sent and not answered (unknown_outcome).
#pragma once

#include <systemd/sd-bus.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "drivers/posix/call.hpp"
#include "specs/model/result.hpp"

namespace lockstep {

struct UnitState {
  std::string load;    // LoadState: "loaded", "not-found", "masked"
  std::string active;  // ActiveState: "active", "inactive", "failed", "activating"
  std::string file;    // UnitFileState: "enabled", "disabled", "static", "masked"; empty: it has no file
};

class Systemd {
 public:
  // `address`: as in the D-Bus specification ("unix:path=/run/dbus/system_bus_socket").
  static Result<Systemd> open(const std::string& address, const Call& call);

  // In the order of the names, which include the suffix ("lldpd.service").
  Result<std::vector<UnitState>> units(const std::vector<std::string>& names, const Call& call);

  Result<Done> start(const std::string& unit, const Call& call) { return run_job("StartUnit", unit, call); }
  Result<Done> stop(const std::string& unit, const Call& call) { return run_job("StopUnit", unit, call); }
  // Whether it is started at boot; systemd reloads its unit files afterwards.
  Result<Done> enable(const std::string& unit, bool on, const Call& call);
  // Resets the "failed" state.
  Result<Done> forget_failure(const std::string& unit, const Call& call);

 private:
  struct CloseBus {
    void operator()(sd_bus* bus) const { ::sd_bus_close_unref(bus); }
  };
  struct UnrefMessage {
    void operator()(sd_bus_message* message) const { ::sd_bus_message_unref(message); }
  };
  using Message = std::unique_ptr<sd_bus_message, UnrefMessage>;
  using JobResults = std::map<std::string, std::string>;  // job's object path to "done", "failed", "timeout"

  explicit Systemd(sd_bus* bus) : bus_(bus), jobs_(std::make_unique<JobResults>()) {}

  static int on_job_removed(sd_bus_message* message, void* jobs, sd_bus_error*);
  Result<Message> request(const char* method) const;
  Result<Message> ask(Message request, bool changes, const Call& call);
  template <class Finished>
  Result<Done> process_until(Finished finished, const Call& call);
  Result<Done> run_job(const char* method, const std::string& unit, const Call& call);
  Result<std::string> file_state(const std::string& object, const Call& call);

  std::unique_ptr<sd_bus, CloseBus> bus_;
  std::unique_ptr<JobResults> jobs_;
};

}  // namespace lockstep
