#include "reconciler/session/specs_follower.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "specs/fabric/allocation.hpp"
#include "specs/files/file_stamp.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

// A choice: users see the result of an edit within two seconds, and a check costs a stat(2) for each file.
constexpr std::chrono::seconds kLook{1};

// Walks it like load(); inventories that specs name are included, too.
void add_folder(const std::string& folder, std::vector<std::string>& files) {
  std::error_code failed;
  fs::recursive_directory_iterator at(folder, failed);
  while (!failed && at != fs::recursive_directory_iterator()) {
    std::error_code ignored;
    const bool is_folder = at->is_directory(ignored);
    if (at->path().filename().string().starts_with('.'))
      at.disable_recursion_pending();
    else if (!is_folder)
      files.push_back(at->path().string());
    at.increment(failed);
  }
}

}  // namespace

std::string specs_seen(const std::vector<std::string>& paths, std::vector<std::string> files) {
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) {
      add_folder(path, files);
    } else {
      files.push_back(path);
      files.push_back((fs::path(path).parent_path() / kAllocationLockFile).string());
    }
  }
  for (std::string& file : files) file = fs::path(file).lexically_normal().string();
  std::ranges::sort(files);
  files.erase(std::ranges::unique(files).begin(), files.end());
  std::string out;
  for (const std::string& file : files) out += file + " " + file_stamp(file) + "\n";
  return out;
}

SpecsFollower::SpecsFollower(Executor& executor, std::vector<std::string> paths,
                             std::vector<std::string> files, std::string seen,
                             std::function<bool(const std::string& seen)> changed)
    : executor_(executor),
      paths_(std::move(paths)),
      files_(std::move(files)),
      changed_(std::move(changed)),
      loaded_(std::move(seen)),
      last_(loaded_) {
  look_later();
}

SpecsFollower::~SpecsFollower() {
  if (timer_ != 0) executor_.cancel(timer_);
}

void SpecsFollower::look_later() {
  timer_ = executor_.at(executor_.now() + kLook, [this] {
    timer_ = 0;
    look();
  });
}

void SpecsFollower::look() {
  look_later();
  std::string now = specs_seen(paths_, files_);
  const bool is_quiet = now == last_;
  last_ = now;
  if (is_quiet && now != loaded_ && changed_(now)) loaded_ = std::move(now);
}

}  // namespace lockstep
