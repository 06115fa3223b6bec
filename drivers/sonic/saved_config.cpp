#include "drivers/sonic/saved_config.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <utility>
#include <vector>

#include "specs/files/read_file.hpp"
#include "specs/files/replace_file.hpp"

namespace lockstep::sonic {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOwnPrefix = "lockstep-";
constexpr std::string_view kCheckpointEnd = ".cp.json";  // generic_updater.py, CHECKPOINT_EXT

// Changes whenever the file does; empty: there is none.
std::string identity_of(const std::string& file) {
  struct stat found {};
  if (::stat(file.c_str(), &found) != 0) return {};
  std::string out;
  for (const auto number :
       {static_cast<std::intmax_t>(found.st_dev), static_cast<std::intmax_t>(found.st_ino),
        static_cast<std::intmax_t>(found.st_size), static_cast<std::intmax_t>(found.st_mtim.tv_sec),
        static_cast<std::intmax_t>(found.st_mtim.tv_nsec), static_cast<std::intmax_t>(found.st_ctim.tv_sec),
        static_cast<std::intmax_t>(found.st_ctim.tv_nsec)})
    out += std::to_string(number) + " ";
  return out;
}

Result<ConfigDb> config_in(const std::string& file) {
  const FileText read = read_named(file, kSavedConfigBytes);
  if (!read) return Error{ErrorKind::refused, read.why};
  Result<ConfigDb> config = parse_config_db(read.text);
  if (!config) return wrap(file, std::move(config.error()));
  return config;
}

void remove_old_checkpoints(const std::string& folder) {
  std::vector<std::pair<fs::file_time_type, fs::path>> own;
  std::error_code failed;
  for (const fs::directory_entry& one : fs::directory_iterator(folder, failed)) {
    const std::string name = one.path().filename().string();
    if (!name.starts_with(kOwnPrefix) || !name.ends_with(kCheckpointEnd)) continue;
    std::error_code gone;
    const fs::file_time_type when = one.last_write_time(gone);
    if (!gone) own.emplace_back(when, one.path());
  }
  std::ranges::sort(own, std::greater());
  for (std::size_t i = kCheckpointsKept; i < own.size(); ++i) fs::remove(own[i].second, failed);
}

}  // namespace

const Result<ConfigDb>& SavedConfig::read() {
  std::string now = identity_of(file_);
  if (!now.empty() && now == read_as_) return saved_;
  saved_ = config_in(file_);
  read_as_ = saved_ ? std::move(now) : "";
  return saved_;
}

Result<Done> SavedConfig::save(const ConfigDb& running) {
  if (file_.empty()) return Error{ErrorKind::unsupported, "the switch's files can't be reached from here"};
  // 0640: it may have passwords. A file that is there keeps its mode.
  return replace_file(file_, config_db_json(running), {.mode = 0640});
}

Result<Done> SavedConfig::checkpoint(std::string_view transaction, const ConfigDb& running) {
  if (checkpoints_.empty()) return Done{};
  std::error_code failed;
  fs::create_directories(checkpoints_, failed);
  if (failed) return Error{ErrorKind::refused, checkpoints_ + ": " + failed.message()};
  // "e3-c12-s4": of all steps of a change, the first leaves it.
  transaction = transaction.substr(0, transaction.rfind("-s"));
  TRY(const std::string file, file_in(checkpoints_, std::string(kOwnPrefix) + std::string(transaction) +
                                                        std::string(kCheckpointEnd)));
  const fs::file_time_type written = fs::last_write_time(file, failed);
  if (!failed && fs::file_time_type::clock::now() - written < kRetriedWithin) return Done{};
  TRY_DONE(replace_file(file, config_db_json(running), {.mode = 0640}));
  remove_old_checkpoints(checkpoints_);
  return Done{};
}

}  // namespace lockstep::sonic
