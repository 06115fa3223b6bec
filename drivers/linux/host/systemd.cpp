#include "drivers/linux/host/systemd.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "drivers/posix/wait.hpp"

namespace lockstep {
namespace {

constexpr const char* kDestination = "org.freedesktop.systemd1";
constexpr const char* kObject = "/org/freedesktop/systemd1";
constexpr const char* kManager = "org.freedesktop.systemd1.Manager";
constexpr const char* kUnit = "org.freedesktop.systemd1.Unit";

Error bus_error(const char* what, int negative) {
  const bool denied = negative == -EACCES || negative == -EPERM;
  return Error{denied ? ErrorKind::denied : ErrorKind::transient,
               std::string("system bus: ") + what + ": " + std::strerror(-negative)};
}

Error malformed() {
  return Error{ErrorKind::refused, "systemd: a reply is not of the types of org.freedesktop.systemd1"};
}

Error refusal(const sd_bus_error& error) {
  const std::string_view name = error.name;
  const bool denied = name == SD_BUS_ERROR_ACCESS_DENIED ||
                      name == "org.freedesktop.DBus.Error.InteractiveAuthorizationRequired";
  return Error{denied ? ErrorKind::denied : ErrorKind::refused,
               "systemd: " + std::string(error.message != nullptr ? error.message : error.name)};
}

// Stores the reply of an asynchronous call.
int keep_reply(sd_bus_message* reply, void* kept, sd_bus_error*) {
  *static_cast<sd_bus_message**>(kept) = ::sd_bus_message_ref(reply);
  return 1;
}

}  // namespace

int Systemd::on_job_removed(sd_bus_message* message, void* jobs, sd_bus_error*) {
  std::uint32_t number = 0;
  const char* job = nullptr;
  const char* unit = nullptr;
  const char* result = nullptr;
  if (::sd_bus_message_read(message, "uoss", &number, &job, &unit, &result) >= 0)
    static_cast<JobResults*>(jobs)->insert_or_assign(job, result);
  return 0;
}

Result<Systemd> Systemd::open(const std::string& address, const Call& call) {
  sd_bus* raw = nullptr;
  if (const int code = ::sd_bus_new(&raw); code < 0) return bus_error("sd_bus_new", code);
  Systemd out(raw);
  if (const int code = ::sd_bus_set_address(raw, address.c_str()); code < 0)
    return bus_error(address.c_str(), code);
  ::sd_bus_set_bus_client(raw, 1);
  if (const int code = ::sd_bus_start(raw); code < 0) return bus_error(address.c_str(), code);
  // Subscribe first: without it systemd sends no signals (org.freedesktop.systemd1(5), Subscribe()).
  if (const int code = ::sd_bus_match_signal_async(raw, nullptr, nullptr, kObject, kManager, "JobRemoved",
                                                   on_job_removed, nullptr, out.jobs_.get());
      code < 0)
    return bus_error("match JobRemoved", code);
  TRY(Message subscribe, out.request("Subscribe"));
  TRY(const Message answer, out.ask(std::move(subscribe), false, call));
  return out;
}

Result<Systemd::Message> Systemd::request(const char* method) const {
  sd_bus_message* raw = nullptr;
  const int code =
      ::sd_bus_message_new_method_call(bus_.get(), &raw, kDestination, kObject, kManager, method);
  if (code < 0) return bus_error(method, code);
  return Message(raw);
}

template <class Finished>
Result<Done> Systemd::process_until(Finished finished, const Call& call) {
  while (!finished()) {
    const int progress = ::sd_bus_process(bus_.get(), nullptr);
    if (progress < 0) return bus_error("lost", progress);
    if (progress > 0) continue;
    const int events = ::sd_bus_get_events(bus_.get());
    if (events < 0) return bus_error("lost", events);
    TRY_DONE(wait_for(::sd_bus_get_fd(bus_.get()), static_cast<short>(events), call));
  }
  return Done{};
}

Result<Systemd::Message> Systemd::ask(Message request, bool changes, const Call& call) {
  sd_bus_message* reply = nullptr;
  sd_bus_slot* slot = nullptr;
  const int sent = ::sd_bus_call_async(bus_.get(), &slot, request.get(), keep_reply, &reply, UINT64_MAX);
  if (sent < 0) return bus_error("send", sent);
  const auto answered = process_until([&] { return reply != nullptr; }, call);
  ::sd_bus_slot_unref(slot);
  const Message owned(reply);
  if (!answered && changes)
    return Error{ErrorKind::unknown_outcome, "systemd did not answer a request: " + answered.error().what};
  if (!answered) return wrap("systemd", answered.error());
  if (const sd_bus_error* const error = ::sd_bus_message_get_error(reply)) return refusal(*error);
  return Message(::sd_bus_message_ref(reply));
}

Result<std::string> Systemd::file_state(const std::string& object, const Call& call) {
  sd_bus_message* raw = nullptr;
  const int made = ::sd_bus_message_new_method_call(bus_.get(), &raw, kDestination, object.c_str(),
                                                    "org.freedesktop.DBus.Properties", "Get");
  if (made < 0) return bus_error("Get", made);
  Message get(raw);
  if (::sd_bus_message_append(raw, "ss", kUnit, "UnitFileState") < 0) return malformed();
  TRY(const Message reply, ask(std::move(get), false, call));
  const char* state = nullptr;
  if (::sd_bus_message_read(reply.get(), "v", "s", &state) < 0) return malformed();
  return std::string(state);
}

Result<std::vector<UnitState>> Systemd::units(const std::vector<std::string>& names, const Call& call) {
  TRY(Message list, request("ListUnitsByNames"));
  std::vector<char*> texts;
  for (const std::string& name : names) texts.push_back(const_cast<char*>(name.c_str()));
  texts.push_back(nullptr);
  if (::sd_bus_message_append_strv(list.get(), texts.data()) < 0) return malformed();
  TRY(const Message reply, ask(std::move(list), false, call));
  std::map<std::string, std::pair<UnitState, std::string>> found;  // with the unit's object
  if (::sd_bus_message_enter_container(reply.get(), 'a', "(ssssssouso)") < 0) return malformed();
  for (;;) {
    const char *name, *title, *load, *active, *sub, *following, *object, *job_type, *job;
    std::uint32_t number;
    const int read = ::sd_bus_message_read(reply.get(), "(ssssssouso)", &name, &title, &load, &active, &sub,
                                           &following, &object, &number, &job_type, &job);
    if (read < 0) return malformed();
    if (read == 0) break;
    if (std::find(names.begin(), names.end(), name) == names.end()) continue;
    found.insert_or_assign(name, std::pair(UnitState{load, active, {}}, std::string(object)));
  }
  std::vector<UnitState> out;
  for (const std::string& name : names) {
    const auto at = found.find(name);
    if (at == found.end()) return Error{ErrorKind::refused, "systemd reported nothing about " + name};
    UnitState state = at->second.first;
    if (state.load != "not-found") {
      TRY(state.file, file_state(at->second.second, call));
    }
    out.push_back(std::move(state));
  }
  return out;
}

Result<Done> Systemd::run_job(const char* method, const std::string& unit, const Call& call) {
  TRY(Message start, request(method));
  if (::sd_bus_message_append(start.get(), "ss", unit.c_str(), "replace") < 0) return malformed();
  TRY(const Message reply, ask(std::move(start), true, call));
  const char* path = nullptr;
  if (::sd_bus_message_read(reply.get(), "o", &path) < 0) return malformed();
  const std::string job = path;
  const auto ended = process_until([&] { return jobs_->contains(job); }, call);
  if (!ended)
    return Error{ErrorKind::unknown_outcome,
                 "systemd " + std::string(method) + " " + unit + " is not done yet: " + ended.error().what};
  if (const std::string& result = jobs_->at(job); result != "done" && result != "skipped")
    return Error{ErrorKind::refused, "systemd " + std::string(method) + " " + unit + ": " + result};
  return Done{};
}

Result<Done> Systemd::enable(const std::string& unit, bool on, const Call& call) {
  TRY(Message change, request(on ? "EnableUnitFiles" : "DisableUnitFiles"));
  // Persistent (not runtime only), and without replacing symbolic links that were made manually.
  const int made = on ? ::sd_bus_message_append(change.get(), "asbb", 1, unit.c_str(), 0, 0)
                      : ::sd_bus_message_append(change.get(), "asb", 1, unit.c_str(), 0);
  if (made < 0) return malformed();
  TRY(const Message changed, ask(std::move(change), true, call));
  TRY(Message reload, request("Reload"));
  TRY(const Message reloaded, ask(std::move(reload), true, call));
  return Done{};
}

Result<Done> Systemd::forget_failure(const std::string& unit, const Call& call) {
  TRY(Message reset, request("ResetFailedUnit"));
  if (::sd_bus_message_append(reset.get(), "s", unit.c_str()) < 0) return malformed();
  TRY(const Message done, ask(std::move(reset), true, call));
  return Done{};
}

}  // namespace lockstep
