#include "drivers/frr/saved.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include "drivers/frr/map.hpp"

namespace lockstep::frr {
namespace {

// The same limit as for a running configuration (vty.hpp), which is saved as a whole.
constexpr std::size_t kFileMax = kReplyMax;
constexpr std::array kDaemonFiles{"zebra", "staticd", "bfdd", "bgpd"};

std::string beside(const std::string& config_file, std::string_view name) {
  return std::filesystem::path(config_file).replace_filename(std::string(name) + ".conf").string();
}

bool is_there(const std::string& file) {
  return ::faccessat(AT_FDCWD, file.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

// The daemons' own files or the integrated one as a single configuration, or the reason why it can't be read.
Result<RunningConfig> saved_config(const std::string& config_file) {
  std::vector<std::string> files{config_file};
  if (!is_there(config_file)) files = {beside(config_file, "bfdd"), beside(config_file, "bgpd")};
  RunningConfig all;
  for (const std::string& file : files) {
    const FileText text = text_of_config(file);
    if (text.outcome == FileText::Outcome::missing) continue;
    if (text.outcome == FileText::Outcome::outside)
      return Error{ErrorKind::refused, file + ": a link that leads out of its folder"};
    if (!text) return Error{ErrorKind::refused, file + ": " + text.why};
    auto one = parse_saved_config(text.text);
    if (!one) return Error{ErrorKind::refused, file + " is no configuration of FRR"};
    merge(all, *one);
    if (!one->defaults.empty()) all.defaults = one->defaults;
  }
  return all;
}

// Prefixes of lines that revoke a row's value set by an earlier line: FRR prints none of these, but manual
// edits may append them.
constexpr std::array kTakesBack{"no aggregate-address",
                                "no bgp bestpath as-path multipath-relax",
                                "no bgp graceful-shutdown",
                                "no bgp router-id",
                                "no maximum-paths",
                                "no profile",
                                "no redistribute",
                                "no timers bgp",
                                "no address-family ipv4 unicast"};
constexpr std::array kOfNeighbors{"bfd", "interface", "peer-group", "remote-as", "shutdown", "timers"};

bool takes_back(std::string_view line, const Speaker* runs) {
  if (std::any_of(kTakesBack.begin(), kTakesBack.end(),
                  [line](const char* begin) { return begins_with_words(line, begin); }))
    return true;
  const std::vector<std::string_view> words = words_of(line);
  if (words.size() < 3 || words[0] != "no" || words[1] != "neighbor" || runs == nullptr) return false;
  if (runs->neighbor(words[2]) == nullptr) return false;  // unmanaged
  return words.size() == 3 ||
         std::find(kOfNeighbors.begin(), kOfNeighbors.end(), words[3]) != kOfNeighbors.end();
}

bool any_takes_back(const std::vector<ConfigLine>& lines, const Speaker* runs) {
  return std::any_of(lines.begin(), lines.end(), [runs](const ConfigLine& line) {
    return takes_back(line.text, runs) || any_takes_back(line.children, runs);
  });
}

// Whether a block that rows map to contains such a line, or the block itself is revoked.
bool any_takes_back(const RunningConfig& config, const Speaker* runs) {
  return std::any_of(config.lines.begin(), config.lines.end(), [runs](const ConfigLine& line) {
    if (line.text == "no bfd" ||
        (begins_with_words(line.text, "no router bgp") && words_of(line.text).size() <= 4))
      return true;
    const bool speaks = begins_with_words(line.text, "router bgp") && words_of(line.text).size() == 3;
    return (speaks || line.text == "bfd") && any_takes_back(line.children, runs);
  });
}

// Differences in the rows' values, as text with the saved value first.
struct Differences {
  std::string first;
  std::size_t count = 0;
  void add(const std::string& what) {
    if (count++ == 0) first = what;
  }
};

void compare_entries(const State& saved, const State& runs, Differences& out) {
  Scope scope;
  for (const RowId id : rows_written())
    if (!is_saving(id)) scope.rows.push_back(id);
  TreeBuilder will;
  TreeBuilder is;
  entries_of(saved, scope, will);
  entries_of(runs, scope, is);
  const Tree later = will.build();
  const Tree now = is.build();
  std::set<Path> all;
  for (const Tree* const tree : {&later, &now})
    for (const Entry& entry : tree->entries()) all.insert(entry.path);
  for (const Path path : all)
    if (later.value(path) != now.value(path))
      out.add(path.text() + " is " + later.value(path).to_string() + " in the file, " +
              now.value(path).to_string() + " running");
}

// Compares what a neighbour needs to exchange anything; it has no row of its own (README.md, "What a
// neighbour implies").
void compare_implied(const State& saved, const State& runs, Differences& out) {
  if (!saved.bgp->speaker || !runs.bgp || !runs.bgp->speaker) return;
  const Speaker& then = *saved.bgp->speaker;
  const Speaker& now = *runs.bgp->speaker;
  if (then.requires_policy != now.requires_policy) out.add("bgp ebgp-requires-policy differs");
  for (const Neighbor& one : now.neighbors)
    if (const Neighbor* const other = then.neighbor(one.interface);
        other != nullptr && other->activated != one.activated)
      out.add("bgp/neighbor[" + one.interface + "] is activated in IPv4 unicast in only one of them");
}

// The error that prevents a comparison; none: the daemon was read, or does not run and has nothing saved.
std::optional<Error> cannot_tell(const std::string& run_dir, const char* daemon,
                                 const std::optional<Error>& unread, bool has_saved) {
  if (!unread || (!has_saved && !Vty::is_held(run_dir, daemon))) return std::nullopt;
  return unread;
}

bool says_lines(const std::string& file) {
  const auto config = parse_saved_config(text_of_config(file).text);
  return config && !config->lines.empty();
}

}  // namespace

FileText text_of_config(const std::string& file) {
  const std::filesystem::path path(file);
  return read_beneath(path.parent_path(), path.filename(), kFileMax);
}

SavedLayout saved_layout(const std::string& config_file) {
  if (is_there(config_file)) return SavedLayout::integrated;
  if (const auto vtysh = parse_saved_config(text_of_config(beside(config_file, "vtysh")).text)) {
    if (vtysh->find("service integrated-vtysh-config") != nullptr) return SavedLayout::integrated;
    if (vtysh->find("no service integrated-vtysh-config") != nullptr) return SavedLayout::per_daemon;
  }
  const bool own_files = std::any_of(kDaemonFiles.begin(), kDaemonFiles.end(), [&](const char* daemon) {
    return says_lines(beside(config_file, daemon));
  });
  return own_files ? SavedLayout::per_daemon : SavedLayout::integrated;
}

std::string saved_place(const std::string& config_file) {
  if (saved_layout(config_file) == SavedLayout::integrated) return config_file;
  return beside(config_file, "bfdd") + " and " + beside(config_file, "bgpd");
}

void hold_against_saved(const std::string& run_dir, const std::string& config_file, State& state) {
  auto config = saved_config(config_file);
  if (!config) {
    state.saved = false;
    state.unsaved = config.error().what;
    return;
  }
  // Without the line, the next start uses the profile that the daemon was built or started with.
  if (config->defaults.empty() && state.bgp) config->defaults = state.bgp->config.defaults;
  State then;
  then.bgp.emplace();
  then.bgp->speaker = speaker_of(*config, state.bgp ? state.bgp->max_paths_default : 0);
  then.bfd.emplace();
  then.bfd->profiles = bfd_profiles_of(*config);
  state.saved_error = cannot_tell(run_dir, "bgpd", state.bgp_error, then.bgp->speaker.has_value());
  if (!state.saved_error)
    state.saved_error = cannot_tell(run_dir, "bfdd", state.bfd_error, !then.bfd->profiles.empty());
  if (state.saved_error) return;

  Differences differences;
  compare_entries(then, state, differences);
  compare_implied(then, state, differences);
  const Speaker* const runs = state.bgp && state.bgp->speaker ? &*state.bgp->speaker : nullptr;
  if (any_takes_back(*config, runs)) differences.add("a line in the file reverts an earlier one");
  state.saved = differences.count == 0;
  state.unsaved = differences.first;
  if (differences.count > 1) state.unsaved += " (and " + std::to_string(differences.count - 1) + " more)";
}

}  // namespace lockstep::frr
