#include "drivers/frr/save.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "drivers/frr/state.hpp"
#include "drivers/frr/vty.hpp"
#include "specs/files/replace_file.hpp"

namespace lockstep::frr {
namespace {

// The order in which vtysh asks them (vtysh/vtysh.c, vtysh_client); all others follow by name.
constexpr std::array kFirst{"zebra", "staticd", "bfdd", "bgpd"};
// --enable-configfile-mask=0640 of Debian's build.
constexpr mode_t kNewFileMode = 0640;
// A frr.conf of a switch has some hundred lines; a bound keeps a wrong path from filling memory.
constexpr std::size_t kFileMax = 16U << 20;

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

std::string contents_of(const std::string& file) {
  const Descriptor in(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 16384> buffer{};
  while (in && text.size() < kFileMax) {
    const ssize_t count = ::read(in.number(), buffer.data(), buffer.size());
    if (count <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return text;
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
  // A full disk may be emptied, and saving again does no harm.
  if (!done && done.error().kind == ErrorKind::refused) done.error().kind = ErrorKind::transient;
  return done;
}

}  // namespace

Result<RunningConfig> read_all(const std::string& run_dir, const Call& call) {
  TRY(const std::vector<std::string> daemons, daemons_in(run_dir));
  RunningConfig all;
  for (const std::string& daemon : daemons) {
    TRY(Vty vty, Vty::connect(run_dir, daemon, call));
    TRY(const RunningConfig one, read_config(vty, call));
    merge(all, one);
    // What missing lines mean matters most to bgpd.
    if (daemon == "bgpd") all.defaults = one.defaults;
  }
  if (all.version.empty()) return Error{ErrorKind::transient, "no FRR daemon has a socket in " + run_dir};
  return all;
}

Result<Done> save_running(const std::string& run_dir, const std::string& config_file, const Call& call) {
  TRY(const RunningConfig all, read_all(run_dir, call));
  const std::string own = lines_of_vtysh(contents_of(config_file));
  std::string text = print(all);
  const std::size_t after_header = text.find("!\n");
  text.insert(after_header, own);
  return replace(config_file, text);
}

}  // namespace lockstep::frr
