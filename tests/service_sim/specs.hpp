// The specs that a simulated service is given: commits of one small cluster, as files, and what each of them
// wants, computed from its parameters alone.
//
// The cluster: six hosts on a leaf switch. Three groups of hosts have a kernel parameter each, and all hosts
// have one more. The group `daily` is changed in a window only (where the world has one), and each change of
// the group `manual` needs approval. A commit that lacks two or more of the four profiles deletes so much
// that somebody must confirm it.
#pragma once

#include <array>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::service_simulation {

enum class Group : std::uint8_t { open, daily, manual, all };
inline constexpr std::size_t kGroups = 4;

// What a version of the program makes of the same files.
enum class Kind : std::uint8_t {
  plain,
  other,  // other values for the group `open`
};

struct Commit {
  std::string id;
  bool loads = true;
  std::array<std::optional<int>, kGroups> values{};  // none: the profile is not there
  std::size_t profiles() const;
};

// "gpu1 sysctl[vm.swappiness]": a setting of a device.
using Setting = std::string;
Setting setting(const std::string& device, const std::string& path);
std::string device_of(const Setting& setting);

std::vector<std::string> all_hosts();
const std::vector<std::string>& hosts_of(Group group);
std::string path_of(Group group);  // of its kernel parameter
bool is_of_profile(const Setting& setting);
bool is_manual(const Setting& setting);
bool is_daily(const Setting& setting);

// The values that a commit wants. A setting without one is not mentioned, or is restored.
std::map<Setting, std::string> wants(const Commit& commit, Kind kind);
// By what version 2 makes of a value of the group `open`.
std::string other_value(const std::string& value);

// By name. `lock`: the text of allocations.lock; empty: there is none.
std::map<std::string, std::string> files_of(const Commit& commit, bool has_window, const std::string& lock);

// The suite's onSchedule.
inline constexpr std::chrono::minutes kMeasuredEvery{20};

// When the group `daily` may be changed, UTC.
inline constexpr int kOpens = 6;  // o'clock
inline constexpr int kCloses = 20;

}  // namespace lockstep::service_simulation
