#include "drivers/frr/save.hpp"

#include <dirent.h>
#include <sys/types.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "drivers/frr/saved.hpp"
#include "drivers/frr/state.hpp"
#include "drivers/frr/vty.hpp"
#include "specs/files/replace_file.hpp"

namespace lockstep::frr {
namespace {

// The order in which vtysh queries them (vtysh/vtysh.c, vtysh_client); all others follow by name.
constexpr std::array kFirst{"zebra", "staticd", "bfdd", "bgpd"};
// Debian builds with --enable-configfile-mask=0640.
constexpr mode_t kNewFileMode = 0640;

Error failed(const std::string& what) {
  const int error = errno;
  const bool denied = error == EACCES || error == EPERM || error == EROFS;
  return Error{denied ? ErrorKind::denied : ErrorKind::transient, what + ": " + std::strerror(error)};
}

std::size_t rank_of(const std::string& daemon) {
  return static_cast<std::size_t>(std::find(kFirst.begin(), kFirst.end(), daemon) - kFirst.begin());
}

Result<std::vector<std::string>> daemons_in(const std::string& run_dir) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(run_dir.c_str()), ::closedir);
  if (!folder) return failed(run_dir);
  std::vector<std::string> daemons;
  while (const dirent* const entry = ::readdir(folder.get())) {
    const std::string name = entry->d_name;
    if (name.size() > 4 && name.ends_with(".vty")) daemons.push_back(name.substr(0, name.size() - 4));
  }
  std::sort(daemons.begin(), daemons.end(), [](const std::string& a, const std::string& b) {
    return std::pair(rank_of(a), a) < std::pair(rank_of(b), b);
  });
  return daemons;
}

// vtysh writes these itself; no daemon shows them.
std::string lines_of_vtysh(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const bool own = begins_with_words(line, "service integrated-vtysh-config") ||
                     begins_with_words(line, "no service integrated-vtysh-config") ||
                     begins_with_words(line, "username");
    if (own) out += std::string(line) + "\n";
  }
  return out;
}

Result<Done> replace(const std::string& config_file, const std::string& text) {
  const Replacement how{.mode = kNewFileMode, .owner = Replacement::Owner::folder};
  auto done = replace_file(config_file, text, how);
  // Space on a full disk may be freed, and saving again does no harm.
  if (!done && done.error().kind == ErrorKind::refused) done.error().kind = ErrorKind::transient;
  return done;
}

// Has each daemon write its own file, as vtysh's `write memory` does.
Result<Done> save_each(const std::string& run_dir, const Call& call) {
  TRY(const std::vector<std::string> daemons, daemons_in(run_dir));
  for (const std::string& daemon : daemons) {
    TRY(Vty vty, Vty::connect(run_dir, daemon, call));
    TRY(const Reply reply, vty.say("write memory", Intention::writes, call));
    if (reply.code != 0 || reply.text.find("Configuration saved to") == std::string::npos)
      return Error{ErrorKind::refused, daemon + ": 'write memory': " + reply.words()};
  }
  return Done{};
}

}  // namespace

Result<RunningConfig> read_all(const std::string& run_dir, const Call& call) {
  TRY(const std::vector<std::string> daemons, daemons_in(run_dir));
  RunningConfig all;
  for (const std::string& daemon : daemons) {
    TRY(Vty vty, Vty::connect(run_dir, daemon, call));
    TRY(const RunningConfig one, read_config(vty, call));
    merge(all, one);
    // The defaults profile matters most to bgpd.
    if (daemon == "bgpd") all.defaults = one.defaults;
  }
  if (all.version.empty()) return Error{ErrorKind::transient, "no FRR daemon has a socket in " + run_dir};
  return all;
}

Result<Done> save_running(const std::string& run_dir, const std::string& config_file, const Call& call) {
  if (saved_layout(config_file) == SavedLayout::per_daemon) return save_each(run_dir, call);
  TRY(const RunningConfig all, read_all(run_dir, call));
  const std::string old = text_of_config(config_file).text;
  std::string text = print(all);
  const std::size_t after_header = text.find("!\n");
  text.insert(after_header, lines_of_vtysh(old));
  return text == old ? Done{} : replace(config_file, text);
}

}  // namespace lockstep::frr
