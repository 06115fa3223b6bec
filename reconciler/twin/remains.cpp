#include "reconciler/twin/remains.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "reconciler/twin/daemons.hpp"
#include "reconciler/twin/namespace.hpp"
#include "reconciler/twin/places.hpp"
#include "specs/files/own_folder.hpp"
#include "specs/files/read_file.hpp"
#include "specs/files/replace_file.hpp"

namespace lockstep {
namespace {

namespace files = std::filesystem;

std::string identity_file(const std::string& cluster) {
  return twin_places(cluster).supervisor_dir + "/identity";
}

std::string netns_prefix(const std::string& cluster) { return places(cluster, "").netns; }

// The folders shared by all twins, outermost first.
std::vector<std::string> shared_folders() {
  return {files::path(kTwinsDir).parent_path(), std::string(kTwinsDir)};
}

Result<bool> make_folders(const TwinPlaces& at) {
  std::vector<std::string> folders = shared_folders();
  folders.push_back(at.run_dir);
  for (const std::string& one : folders) {
    TRY(const bool made, make_folder(one, {::geteuid(), 0750}));
    if (!made) return false;
  }
  return make_folder(at.supervisor_dir, {::geteuid(), 0700});
}

Error file_error(const std::string& what, const std::error_code& failed) {
  return Error{ErrorKind::refused, what + ": " + failed.message()};
}

// Removes the parent folders if they are empty: a twin that is down leaves nothing.
void drop_empty_parents(const std::string& run_dir) {
  std::error_code ignored;
  const files::path twins = files::path(run_dir).parent_path();
  files::remove(twins, ignored);
  files::remove(twins.parent_path(), ignored);
}

}  // namespace

Result<std::optional<Descriptor>> claim(const std::string& cluster) {
  const TwinPlaces at = twin_places(cluster);
  // A holder removes the directory just before it ends: then open fails or the lock is on a deleted file, and
  // everything starts again. Each round means that another twin command has finished.
  for (int tries = 0; tries < 100; ++tries) {
    TRY(const bool made, make_folders(at));
    if (!made) continue;
    Descriptor lock(::open(at.lock.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!lock && errno == ENOENT) continue;
    if (!lock) return errno_error("open " + at.lock);
    if (::flock(lock.number(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) return std::optional<Descriptor>();
      return errno_error("lock " + at.lock);
    }
    struct stat held {};
    struct stat named {};
    if (::fstat(lock.number(), &held) != 0) return errno_error("stat " + at.lock);
    if (::stat(at.lock.c_str(), &named) != 0 || held.st_ino != named.st_ino) continue;
    return std::optional<Descriptor>(std::move(lock));
  }
  return Error{ErrorKind::transient,
               "the lock of twin " + cluster + " keeps moving: others start and stop it"};
}

Result<Done> check_own(const std::string& cluster) {
  for (const std::string& one : shared_folders()) TRY_DONE(check_own_folder(one));
  TRY_DONE(check_own_folder(twin_places(cluster).run_dir));
  return check_own_folder(twin_places(cluster).supervisor_dir);
}

Result<std::vector<std::string>> twin_clusters() {
  for (const std::string& one : shared_folders()) TRY_DONE(check_own_folder(one));
  std::vector<std::string> out;
  std::error_code ignored;  // no folder: no twins
  for (const auto& entry : files::directory_iterator(kTwinsDir, ignored))
    if (check_own(entry.path().filename())) out.push_back(entry.path().filename());
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<std::string> remains_of(const std::string& cluster) {
  std::vector<std::string> out;
  for (const std::string& name : netns_with_prefix(netns_prefix(cluster))) out.push_back("namespace " + name);
  const TwinPlaces at = twin_places(cluster);
  std::error_code ignored;
  for (const auto& entry : files::directory_iterator(at.run_dir, ignored))
    if (entry.path() != at.supervisor_dir) out.push_back("folder " + entry.path().string());
  for (const auto& entry : files::directory_iterator(at.supervisor_dir, ignored))
    if (entry.path() != at.lock) out.push_back("file " + entry.path().string());
  return out;
}

Result<Done> clean_remains(const std::string& cluster, Leave leave) {
  TRY_DONE(check_own(cluster));
  for (const std::string& name : netns_with_prefix(netns_prefix(cluster))) TRY_DONE(delete_netns(name));
  const TwinPlaces at = twin_places(cluster);
  std::error_code failed;
  if (leave == Leave::nothing) {
    files::remove_all(at.run_dir, failed);  // does not follow links
    if (failed) return file_error("remove " + at.run_dir, failed);
    drop_empty_parents(at.run_dir);
    return Done{};
  }
  std::vector<files::path> doomed;
  for (const auto& folder : {at.run_dir, at.supervisor_dir})
    for (const auto& entry : files::directory_iterator(folder, failed))
      if (entry.path() != at.supervisor_dir && entry.path() != at.lock) doomed.push_back(entry.path());
  for (const files::path& one : doomed) {
    files::remove_all(one, failed);
    if (failed) return file_error("remove " + one.string(), failed);
  }
  return Done{};
}

std::optional<ProcessIdentity> identity_of(pid_t pid) {
  std::ifstream in(fmt::format("/proc/{}/stat", pid));
  std::stringstream all;
  all << in.rdbuf();
  const std::string text = all.str();
  // Field 2, the name, is in brackets and may contain anything; counting starts after the last bracket.
  const auto bracket = text.rfind(')');
  if (bracket == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(bracket + 1));
  std::string skipped;
  constexpr int kBefore = 19;  // fields 3 to 21
  for (int i = 0; i < kBefore; ++i) fields >> skipped;
  ProcessIdentity out{pid, 0};
  if (!(fields >> out.started)) return std::nullopt;
  return out;
}

Result<Done> record_supervisor(const std::string& cluster) {
  const auto self = identity_of(outer_pid_of_self());
  if (!self) return Error{ErrorKind::refused, "/proc is not that of this machine's processes"};
  const std::string text = fmt::format("{} {}\n", self->pid, self->started);
  return replace_file(identity_file(cluster), text, {.mode = 0600});
}

std::optional<ProcessIdentity> recorded_supervisor(const std::string& cluster) {
  constexpr std::size_t kLargest = 4096;  // two numbers
  std::istringstream in(read_named(identity_file(cluster), kLargest).text);
  ProcessIdentity out;
  if (!(in >> out.pid >> out.started)) return std::nullopt;
  return out;
}

}  // namespace lockstep
