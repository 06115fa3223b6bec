// service[*]: systemd units by name ("lldpd" is lldpd.service), with their state now and at the next boot.
//
//   running               active, and started at boot (or wanted by a unit: static, generated, indirect)
//   running, not at boot  active, and disabled or masked
//   stopped               inactive, and started at boot
//   disabled              inactive, and not started at boot
// else systemd's own ActiveState (failed, activating). Each of the four can be requested, so that a previous
// state can be restored. A unit that systemd does not find runs neither now nor at the next boot: disabled.
#include <algorithm>

#include "drivers/linux/host/map.hpp"
#include "drivers/linux/host/shares.hpp"
#include "drivers/linux/host/systemd.hpp"

namespace lockstep {
namespace {

using host_map::kService;

constexpr std::string_view kSocket = "/run/dbus/system_bus_socket";  // D-Bus Specification, system bus
constexpr std::string_view kNotFound = "not-found";                  // LoadState, org.freedesktop.systemd1(5)
constexpr std::string_view kBooted = "/run/systemd/system";          // sd_booted(3)

// Time allowed for restoring a unit, independently of the call's deadline. Arbitrary: the same as for FRR's
// settings.
constexpr std::chrono::seconds kPutBack{2};

// systemd.unit(5): the types of units. A name without a type is a service's, as in systemctl(1).
std::string whole_name(const std::string& name) {
  for (const std::string_view type : {".service", ".socket", ".device", ".mount", ".automount", ".swap",
                                      ".target", ".path", ".timer", ".slice", ".scope"})
    if (name.ends_with(type)) return name;
  return name + ".service";
}

struct Word {
  bool active;
  bool at_boot;
  std::string_view text;
};
constexpr Word kWords[] = {{true, true, "running"},
                           {true, false, "running, not at boot"},
                           {false, true, "stopped"},
                           {false, false, "disabled"}};

bool is_active(const UnitState& unit) { return unit.active == "active" || unit.active == "reloading"; }

bool is_at_boot(const UnitState& unit) {
  return unit.load != kNotFound && unit.file != "disabled" && !unit.file.starts_with("masked") &&
         unit.file != "bad";
}

std::string word_for(const UnitState& unit) {
  if (!is_active(unit) && unit.active != "inactive") return unit.active;
  for (const Word& one : kWords)
    if (one.active == is_active(unit) && one.at_boot == is_at_boot(unit)) return std::string(one.text);
  return unit.active;
}

class Services final : public HostSetting {
 public:
  explicit Services(HostFiles files) : files_(std::move(files)) {}

  std::vector<Incapable> incapable(const Scope& scope, const Call& call) override {
    if (!files_.exists(kBooted))
      return {{kService, {}, "not booted with systemd (no " + std::string(kBooted) + ")"}};
    std::vector<Incapable> out;
    const auto units = units_of(scope.names(kService), call);
    if (!units) return out;  // reported by read()
    for (const auto& [name, unit] : *units)
      if (unit.load == kNotFound)
        out.push_back(
            {kService,
             {name},
             "systemd has no " + whole_name(name) + "; packages are installed manually, not by lockstep",
             true});
    return out;
  }

  void read(HostReading& out, const Call& call) override {
    if (!files_.exists(kBooted)) return;
    const auto units = units_of(out.scope.names(kService), call);
    if (!units) return out.fails(kService, units.error());
    for (const auto& [name, unit] : *units) out.add(Path(kService, {name}), Value::text(word_for(unit)));
  }

  Result<Done> set(const Change& change, const Call& call) override {
    TRY(const std::string wanted, wanted_text(change));
    const auto* const word = std::find_if(std::begin(kWords), std::end(kWords),
                                          [&](const Word& one) { return one.text == wanted; });
    if (word == std::end(kWords))
      return Error{ErrorKind::invalid_spec,
                   "a service is running, stopped or disabled, not '" + wanted + "'"};
    const std::string name = whole_name(std::string(change.path.key(0)));
    TRY(Systemd systemd, open(call));
    TRY(const UnitState was, state(systemd, name, call));
    if (was.load == kNotFound) return Error{ErrorKind::refused, "systemd: Unit " + name + " not found."};
    const Call own{.deadline = std::max(call.deadline, std::chrono::steady_clock::now() + kPutBack),
                   .stop = {}};
    const Share unit{name,
                     [&]() -> Result<Done> {
                       TRY_DONE(bring(systemd, name, was, word->active, word->at_boot, call));
                       TRY(const UnitState now, state(systemd, name, call));
                       if (word_for(now) == wanted) return Done{};
                       return Error{ErrorKind::refused, "systemd: " + name + " is " + word_for(now) +
                                                            " all the same (" + now.active + ", " + now.file +
                                                            ")"};
                     },
                     [&]() -> Result<Done> {
                       TRY(const UnitState now, state(systemd, name, own));
                       return bring(systemd, name, now, is_active(was), is_at_boot(was), own);
                     }};
    return set_all({unit});
  }

 private:
  static Result<Done> bring(Systemd& systemd, const std::string& name, const UnitState& is, bool active,
                            bool at_boot, const Call& call) {
    if (is_at_boot(is) != at_boot) TRY_DONE(systemd.enable(name, at_boot, call));
    if (active && !is_active(is)) TRY_DONE(systemd.start(name, call));
    if (!active && is.active != "inactive") TRY_DONE(systemd.stop(name, call));
    if (!active && is.active == "failed") TRY_DONE(systemd.forget_failure(name, call));
    return Done{};
  }

  Result<Systemd> open(const Call& call) const {
    return Systemd::open("unix:path=" + files_.at(kSocket).string(), call);
  }

  // Keyed by these names.
  Result<std::map<std::string, UnitState>> units_of(const std::set<std::string>& names,
                                                    const Call& call) const {
    std::map<std::string, UnitState> out;
    if (names.empty()) return out;
    TRY(Systemd systemd, open(call));
    std::vector<std::string> whole;
    for (const std::string& name : names) whole.push_back(whole_name(name));
    TRY(const auto units, systemd.units(whole, call));
    auto unit = units.begin();
    for (const std::string& name : names) out.emplace(name, *unit++);
    return out;
  }

  static Result<UnitState> state(Systemd& systemd, const std::string& name, const Call& call) {
    TRY(const auto units, systemd.units({name}, call));
    return units.front();
  }

  HostFiles files_;
};

}  // namespace

std::string service_words(const Change& change) {
  const std::string name = whole_name(std::string(change.path.key(0)));
  const std::string wanted = change.want.to_string();
  if (wanted == "running") return "systemctl enable --now " + name;
  if (wanted == "disabled") return "systemctl disable --now " + name;
  if (wanted == "stopped") return "systemctl enable " + name + "; systemctl stop " + name;
  return "systemctl disable " + name + "; systemctl start " + name;
}

OneSetting services_setting(const LinuxTarget& target, const SharedPci&) {
  return std::make_unique<Services>(HostFiles(target.root));
}

}  // namespace lockstep
