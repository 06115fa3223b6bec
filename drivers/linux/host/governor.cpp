// cpu/governor: the cpufreq governor of all CPUs.
//
// /sys/devices/system/cpu/cpufreq/policy*/scaling_governor (Documentation/admin-guide/pm/cpufreq.rst): one
// policy covers the CPUs that share a clock. A machine without policies (most virtual ones) has no
// governor.
#include "drivers/linux/host/map.hpp"
#include "drivers/linux/host/shares.hpp"

namespace lockstep {
namespace {

using host_map::kGovernor;

constexpr std::string_view kCpufreq = "/sys/devices/system/cpu/cpufreq";

class Governor final : public HostSetting {
 public:
  explicit Governor(HostFiles files) : files_(std::move(files)) {}

  std::vector<Incapable> incapable(const Scope&, const Call&) override {
    if (!policies().empty()) return {};
    return {{kGovernor, {}, "no CPU here has a cpufreq policy (" + std::string(kCpufreq) + ")"}};
  }

  void read(HostReading& out, const Call&) override {
    std::vector<Value> values;
    for (const std::string& policy : policies()) {
      const auto governor = files_.line(policy + "/scaling_governor");
      if (!governor) return out.fails(kGovernor, governor.error());
      values.push_back(Value::text(*governor));
    }
    out.add(kGovernor, in_common(values));
  }

  Result<Done> set(const Change& change, const Call&) override {
    TRY(const std::string wanted, wanted_text(change));
    if (auto back = mixed_.put_back(wanted)) return *std::move(back);
    Shares shares;
    std::vector<Value> were;
    for (const std::string& policy : policies()) {
      TRY(const std::string available, files_.line(policy + "/scaling_available_governors"));
      if ((" " + available + " ").find(" " + wanted + " ") == std::string::npos)
        return Error{ErrorKind::refused, policy + " has no governor '" + wanted + "', only: " + available};
      TRY(const std::string was, files_.line(policy + "/scaling_governor"));
      were.push_back(Value::text(was));
      shares.push_back({policy, [this, policy, wanted] { return set_one(policy, wanted); },
                        [this, policy, was] { return set_one(policy, was); }});
    }
    TRY_DONE(set_all(shares));
    if (const Value told = in_common(were); !were.empty() && told != were.front())
      mixed_.remember(told.to_string(), std::move(shares));
    return Done{};
  }

 private:
  Result<Done> set_one(const std::string& policy, const std::string& wanted) const {
    TRY(const std::string was, files_.line(policy + "/scaling_governor"));
    if (was == wanted) return Done{};
    TRY_DONE(files_.write(policy + "/scaling_governor", wanted));
    TRY(const std::string now, files_.line(policy + "/scaling_governor"));
    if (now != wanted)
      return Error{ErrorKind::refused,
                   policy + ": wrote governor '" + wanted + "', and the kernel made it '" + now + "'"};
    return Done{};
  }

  std::vector<std::string> policies() const {
    std::vector<std::string> out;
    for (const std::string& name : files_.names(kCpufreq))
      if (name.starts_with("policy")) out.push_back(std::string(kCpufreq) + "/" + name);
    return out;
  }

  HostFiles files_;
  Mixed mixed_;
};

}  // namespace

std::string governor_words(const Change& change) {
  return "cpupower frequency-set --governor " + change.want.to_string();
}

OneSetting governor_setting(const LinuxTarget& target, const SharedPci&) {
  return std::make_unique<Governor>(HostFiles(target.root));
}

}  // namespace lockstep
