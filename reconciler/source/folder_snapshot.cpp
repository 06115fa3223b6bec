#include "reconciler/source/folder_snapshot.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "reconciler/engine/digest.hpp"
#include "specs/files/file_error.hpp"
#include "specs/files/read_file.hpp"
#include "specs/model/printable.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

using Trouble = SourceTrouble;

constexpr std::size_t kDeepestFolder = 64;  // a choice; specs have some three levels

std::int64_t nanoseconds(const timespec& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

SourceError changing(const std::string& what) {
  return trouble_with(Trouble::unreachable, what + ": changes while it is read; it is read again later");
}

class FolderReader {
 public:
  FolderReader(const FolderSettings& settings, const Call& call) : settings_(settings), call_(call) {}

  Fetched<FolderSnapshot> read() {
    TRY(SnapshotEntry top, looked_at("", ::stat));
    if (top.kind != SnapshotEntry::Kind::folder)
      return trouble_with(Trouble::not_found, settings_.folder + ": is not a folder; correct the name");
    found_.emplace("", std::move(top));
    TRY_DONE(enter("", 0));
    return std::move(found_);
  }

 private:
  using Look = int (*)(const char*, struct stat*);

  std::string place(const std::string& name) const {
    return settings_.folder + (name.empty() ? "" : "/" + name);
  }
  std::string shown(const std::string& name) const { return printable(place(name)); }

  Fetched<SnapshotEntry> looked_at(const std::string& name, Look look) const {
    struct stat is {};
    if (look(place(name).c_str(), &is) != 0) {
      if (errno == ENOENT && !name.empty()) return changing(shown(name));
      if (errno == ENOENT || errno == ENOTDIR)
        return trouble_with(Trouble::not_found,
                            shown(name) + ": does not exist; create it, or correct the name");
      return SourceError{Trouble::local, file_error(shown(name), errno)};
    }
    SnapshotEntry out{
        .device = is.st_dev, .inode = is.st_ino, .size = static_cast<std::uint64_t>(is.st_size)};
    out.modified = nanoseconds(is.st_mtim);
    out.changed = nanoseconds(is.st_ctim);
    if (S_ISDIR(is.st_mode))
      out.kind = SnapshotEntry::Kind::folder;
    else if (S_ISLNK(is.st_mode))
      out.kind = SnapshotEntry::Kind::link;
    else if (!S_ISREG(is.st_mode))
      return trouble_with(Trouble::not_allowed, shown(name) + ": is neither a file nor a folder; remove it");
    return out;
  }

  Fetched<Done> enter(const std::string& folder, std::size_t depth) {
    if (depth > kDeepestFolder)
      return trouble_with(Trouble::too_large, shown(folder) + ": is more than " +
                                                  std::to_string(kDeepestFolder) + " folders deep; move it");
    std::error_code failed;
    std::vector<std::string> names;
    for (fs::directory_iterator at(place(folder), failed), end; !failed && at != end; at.increment(failed)) {
      const std::string name = at->path().filename().string();
      if (name.starts_with('.')) continue;
      if (found_.size() + names.size() > settings_.max_files) return too_many();
      names.push_back(folder.empty() ? name : folder + "/" + name);
    }
    if (failed == std::errc::no_such_file_or_directory || failed == std::errc::not_a_directory)
      return changing(shown(folder));
    if (failed) return SourceError{Trouble::local, file_error(shown(folder), failed.value())};
    for (const std::string& name : names) TRY_DONE(add(name, depth));
    return Done{};
  }

  Fetched<Done> add(const std::string& name, std::size_t depth) {
    TRY_DONE(may_continue(call_, printable(settings_.folder)));
    TRY(SnapshotEntry entry, looked_at(name, ::lstat));
    const SnapshotEntry::Kind kind = entry.kind;
    if (kind != SnapshotEntry::Kind::folder) TRY_DONE(fill(name, entry));
    found_.emplace(name, std::move(entry));
    if (kind == SnapshotEntry::Kind::folder) return enter(name, depth + 1);
    return Done{};
  }

  // The content of a file, or of the file that a link leads to; else where the link leads.
  Fetched<Done> fill(const std::string& name, SnapshotEntry& entry) {
    const bool is_link = entry.kind == SnapshotEntry::Kind::link;
    FileText text = read_beneath(settings_.folder, name, settings_.max_bytes - total_);
    switch (text.outcome) {
      case FileText::Outcome::read: break;
      case FileText::Outcome::too_large:
        return trouble_with(Trouble::too_large, printable(settings_.folder) + ": has more than the " +
                                                    std::to_string(settings_.max_bytes) +
                                                    " bytes that are read, up to " + printable(name));
      case FileText::Outcome::outside:
        return trouble_with(Trouble::not_allowed,
                            shown(name) + ": is a symbolic link out of the folder; put the file here");
      case FileText::Outcome::missing:
        if (!is_link) return changing(shown(name));
        return keep_link(name, entry);
      case FileText::Outcome::refused:
        if (is_link) return keep_link(name, entry);
        return SourceError{Trouble::local, {ErrorKind::denied, shown(name) + ": " + text.why}};
    }
    entry.kind = SnapshotEntry::Kind::file;
    entry.content = std::move(text.text);
    total_ += entry.content.size();
    return Done{};
  }

  // It leads to a folder beneath this one, or to nothing.
  Fetched<Done> keep_link(const std::string& name, SnapshotEntry& entry) const {
    std::error_code failed;
    entry.content = fs::read_symlink(place(name), failed).string();
    if (failed || entry.content.empty()) return changing(shown(name));
    return Done{};
  }

  SourceError too_many() const {
    return trouble_with(Trouble::too_large, printable(settings_.folder) + ": has more than " +
                                                std::to_string(settings_.max_files) + " files and folders");
  }

  const FolderSettings& settings_;
  const Call& call_;
  FolderSnapshot found_;
  std::uint64_t total_ = 0;
};

}  // namespace

Fetched<FolderSnapshot> read_folder(const FolderSettings& settings, const Call& call) {
  return FolderReader(settings, call).read();
}

std::string snapshot_id(const FolderSnapshot& snapshot) {
  Digest digest;
  for (const auto& [name, entry] : snapshot) {
    if (entry.kind == SnapshotEntry::Kind::folder) continue;
    digest.add(name);
    digest.add(std::string_view(entry.kind == SnapshotEntry::Kind::link ? "link" : "file"));
    digest.add(entry.content);
  }
  return digest.finish();
}

}  // namespace lockstep
