#include "reconciler/source/folder_source.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <optional>
#include <utility>

#include "drivers/posix/wait.hpp"
#include "reconciler/source/cache_folder.hpp"
#include "reconciler/source/folder_snapshot.hpp"
#include "specs/files/file_error.hpp"
#include "specs/model/printable.hpp"

namespace lockstep {
namespace {

// Choices: copying a tree of specs, or saving a file in an editor, takes less.
constexpr int kReadings = 5;
constexpr std::chrono::milliseconds kBetweenReadings{100};

class WatchedFolder final : public Source {
 public:
  explicit WatchedFolder(FolderSettings settings) : settings_(std::move(settings)) {}

  std::variant<Revision, SourceError> fetch(const Call& call) override {
    Fetched<Revision> fetched = newest(call);
    if (!fetched) return std::move(fetched.error());
    last_ = *fetched;
    return *std::move(fetched);
  }
  std::string title() const override { return printable("folder " + settings_.folder); }

 private:
  Fetched<Revision> newest(const Call& call) const {
    TRY(const FolderSnapshot snapshot, quiet(call));
    Revision out{.id = snapshot_id(snapshot)};
    if (last_ && last_->id == out.id) return *last_;
    TRY(const auto folder, on_this_machine(CacheFolder::make(settings_.cache)));
    for (const auto& [name, entry] : snapshot) {
      TRY_DONE(may_continue(call, title()));
      TRY_DONE(on_this_machine(write(*folder, name, entry)));
    }
    out.folder = folder;
    return out;
  }

  // What two readings in a row found alike, so that it was there from the end of the first to the begin of
  // the second.
  Fetched<FolderSnapshot> quiet(const Call& call) const {
    std::optional<FolderSnapshot> before;
    for (int reading = 0; reading < kReadings; ++reading) {
      if (reading > 0) {
        if (auto paused = pause(kBetweenReadings, call); !paused)
          return SourceError{SourceTrouble::unreachable, wrap(title(), std::move(paused.error()))};
      }
      Fetched<FolderSnapshot> found = read_folder(settings_, call);
      const bool is_changing = !found && found.error().trouble == SourceTrouble::unreachable;
      if (!found && !is_changing) return std::move(found.error());
      TRY_DONE(may_continue(call, title()));
      if (found && before == *found) return *std::move(found);
      before = found ? std::optional(*std::move(found)) : std::nullopt;
    }
    return trouble_with(SourceTrouble::unreachable, title() + ": keeps changing; it is read again later");
  }

  static Result<Done> write(const CacheFolder& folder, const std::string& name, const SnapshotEntry& entry) {
    const std::string path = folder.path() + "/" + name;
    switch (entry.kind) {
      case SnapshotEntry::Kind::file: return write_new_file(folder.path(), name, entry.content);
      case SnapshotEntry::Kind::folder: break;
      case SnapshotEntry::Kind::link:
        if (::symlink(entry.content.c_str(), path.c_str()) != 0) return file_error("create " + path, errno);
        return Done{};
    }
    if (!name.empty() && ::mkdir(path.c_str(), 0700) != 0) return file_error("create " + path, errno);
    return Done{};
  }

  FolderSettings settings_;
  std::optional<Revision> last_;  // returned again while the folder is as it was
};

}  // namespace

Result<std::unique_ptr<Source>> make_folder_source(FolderSettings settings) {
  for (const auto& [name, path] :
       {std::pair{"folder", &settings.folder}, std::pair{"cache", &settings.cache}})
    if (!path->starts_with('/'))
      return Error{ErrorKind::invalid_spec,
                   std::string(name) + " " + printable(*path) + ": must be an absolute path"};
  const std::filesystem::path inside =
      std::filesystem::path(settings.cache)
          .lexically_normal()
          .lexically_relative(std::filesystem::path(settings.folder).lexically_normal());
  if (!inside.empty() && *inside.begin() != "..")
    return Error{ErrorKind::invalid_spec,
                 "cache " + printable(settings.cache) + ": must not be in the folder whose copies it holds"};
  if (settings.max_bytes == 0 || settings.max_files == 0)
    return Error{ErrorKind::invalid_spec, "max_bytes and max_files must be more than 0"};
  remove_leftovers(settings.cache);
  return std::unique_ptr<Source>(std::make_unique<WatchedFolder>(std::move(settings)));
}

}  // namespace lockstep
