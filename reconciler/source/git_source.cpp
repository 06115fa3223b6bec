#include "reconciler/source/git_source.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "reconciler/source/cache_folder.hpp"
#include "reconciler/source/git_address.hpp"
#include "reconciler/source/git_commit.hpp"
#include "reconciler/source/git_program.hpp"
#include "reconciler/source/git_tree.hpp"
#include "specs/model/printable.hpp"

namespace lockstep {
namespace {

using Trouble = SourceTrouble;

constexpr const char* kFetchedReference = "refs/lockstep/fetched";
constexpr std::uint64_t kAnswerMost = std::uint64_t{1} << 20;  // a choice: of commands that print a few lines
// A choice: the average path that a listing may have. A tree can name itself many times, and few objects be
// listed without end.
constexpr std::uint64_t kListedPath = 512;

bool is_sha256(const std::string& commit) { return commit.size() == 64; }

class GitRepository final : public Source {
 public:
  explicit GitRepository(GitSettings settings) : settings_(std::move(settings)) {
    title_ = printable(settings_.address + " " + to_string(settings_.reference));
  }

  std::variant<Revision, SourceError> fetch(const Call& call) override {
    Fetched<Revision> fetched = newest(call);
    if (!fetched) return std::move(fetched.error());
    last_ = *fetched;
    return *std::move(fetched);
  }
  std::string title() const override { return title_; }

 private:
  Fetched<Revision> newest(const Call& call) {
    TRY_DONE(may_continue(call, title_));
    TRY(const GitSecrets secrets, read_git_secrets(settings_, title_));
    TRY(const auto folder, on_this_machine(CacheFolder::make(settings_.cache)));
    TRY(const GitProgram git, GitProgram::make(settings_, secrets, folder->path(), title_));
    // Who was removed from the allowed signers is not trusted any more.
    if (secrets.allowed_signers != signers_) last_.reset();
    signers_ = secrets.allowed_signers;
    if (last_) {
      TRY(const std::string commit, advertised(git, call));
      if (commit == last_->id) return *last_;
    }
    TRY_DONE(fetch_reference(git, call));
    return revision(git, call);
  }

  // The commit that the repository has now under this name.
  Fetched<std::string> advertised(const GitProgram& git, const Call& call) const {
    const std::string name = git_reference(settings_.reference);
    if (settings_.reference.kind == GitReference::Kind::commit) return name;
    const std::string peeled = name + "^{}";  // the commit of an annotated tag
    TRY(const Ended ended,
        git.run({"ls-remote", "--quiet", settings_.address, name, peeled}, kAnswerMost, call));
    if (!ended.well) return fetch_trouble(ended, git.context());
    std::string out;
    for (std::string_view rest = ended.out; !rest.empty();) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      const std::string_view line = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      const std::size_t tab = std::min(line.find('\t'), line.size());
      if (line.substr(tab) == "\t" + peeled || (out.empty() && line.substr(tab) == "\t" + name))
        out = line.substr(0, tab);
    }
    if (!out.empty()) return out;
    return trouble_with(Trouble::not_found,
                        title_ + ": not in the repository any more; push it, or correct the name");
  }

  Fetched<Done> fetch_reference(const GitProgram& git, const Call& call) const {
    const GitReference& reference = settings_.reference;
    bool sha256 = reference.kind == GitReference::Kind::commit && is_sha256(reference.name);
    TRY(Ended ended, fetch_into(git, sha256, call));
    if (!ended.well && ended.err.find("mismatched algorithms") != std::string::npos) {
      sha256 = !sha256;
      std::error_code none;
      std::filesystem::remove_all(git.repository(), none);
      TRY(ended, fetch_into(git, sha256, call));
    }
    if (!ended.well && is_pack_full(git.repository())) return received_too_much(git.context());
    if (!ended.well) return fetch_trouble(ended, git.context());
    return Done{};
  }

  // git-index-pack(1) may write no more than that, and git does not say why it ended.
  bool is_pack_full(const std::string& repository) const {
    std::error_code none;
    for (std::filesystem::directory_iterator at(repository + "/objects/pack", none), end; !none && at != end;
         at.increment(none)) {
      const std::uintmax_t size = at->file_size(none);
      if (!none && size >= settings_.max_bytes) return true;
    }
    return false;
  }

  // The objects of one commit, in one pack, which index-pack checks before it is used.
  Fetched<Ended> fetch_into(const GitProgram& git, bool sha256, const Call& call) const {
    TRY(const Ended made, git.run({"init", "--quiet", "--bare",
                                   "--template=", sha256 ? "--object-format=sha256" : "--object-format=sha1"},
                                  kAnswerMost, call));
    if (!made.well)
      return SourceError{Trouble::local, {ErrorKind::refused, title_ + ": git init: " + made.complaint()}};
    return git.run({"fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules",
                    "--no-write-fetch-head", "--no-auto-maintenance", "--no-show-forced-updates",
                    settings_.address, "+" + git_reference(settings_.reference) + ":" + kFetchedReference},
                   settings_.max_bytes, call);
  }

  Fetched<Revision> revision(const GitProgram& git, const Call& call) const {
    const GitReference& reference = settings_.reference;
    TRY(Revision out, describe_git_commit(git, kFetchedReference, call));
    if (reference.kind == GitReference::Kind::commit && out.id != reference.name)
      return trouble_with(Trouble::not_found,
                          title_ + ": is not a commit, but a tag of one; name the commit");
    if (!settings_.allowed_signers_file.empty()) {
      TRY(out.signer, verify_git_commit(git, out.id, settings_.allowed_signers_file, call));
    }
    TRY(const std::string tree, specs_tree(git, out.id, call));
    TRY(const std::vector<GitEntry> entries, listed(git, tree, call));
    TRY(out.folder, copied(git, entries, call));
    return out;
  }

  // The name of the tree of the folder of specs.
  Fetched<std::string> specs_tree(const GitProgram& git, const std::string& commit, const Call& call) const {
    if (settings_.path.empty()) return commit + "^{tree}";
    TRY(const std::string listing,
        git.read({"ls-tree", "-z", "--long", "--full-tree", commit, "--", settings_.path}, kAnswerMost,
                 call));
    TRY(const std::vector<GitEntry> found, parse_git_listing(listing, title_));
    const std::string shown = title_ + ": folder " + printable(settings_.path);
    if (found.empty())
      return trouble_with(Trouble::not_found, shown + " is not in commit " + commit + "; correct path");
    if (found.front().kind == GitEntry::Kind::folder) return found.front().hash;
    TRY_DONE(check_git_entries(found, settings_, shown));
    return trouble_with(Trouble::not_found, shown + " is a file in commit " + commit + "; correct path");
  }

  Fetched<std::vector<GitEntry>> listed(const GitProgram& git, const std::string& tree,
                                        const Call& call) const {
    const std::uint64_t most = kAnswerMost + kListedPath * settings_.max_files;
    TRY(const Ended ended, git.run({"ls-tree", "-r", "-z", "--long", "--full-tree", tree}, most, call));
    if (ended.signal != 0)
      return trouble_with(Trouble::too_large, title_ + ": has more than " +
                                                  std::to_string(settings_.max_files) +
                                                  " files, or its folders are too deep");
    if (!ended.well) return object_trouble(ended, git.context());
    TRY(std::vector<GitEntry> out, parse_git_listing(ended.out, title_));
    TRY_DONE(check_git_entries(out, settings_, title_));
    return out;
  }

  Fetched<std::shared_ptr<const SourceFolder>> copied(const GitProgram& git,
                                                      const std::vector<GitEntry>& entries,
                                                      const Call& call) const {
    constexpr std::uint64_t kHeadMost = 128;  // of each object: its hash, type and size
    std::string names;
    std::uint64_t most = kAnswerMost;
    for (const GitEntry& entry : entries) {
      names += entry.hash + "\n";
      most += entry.size + kHeadMost;
    }
    TRY(const std::string printed, git.read({"cat-file", "--batch", "--buffer"}, most, call, names));
    TRY(const std::vector<std::string_view> contents, parse_git_contents(printed, entries, title_));
    for (std::size_t i = 0; i < entries.size(); ++i)
      if (const std::size_t line = find_conflict(contents[i]); line != 0)
        return trouble_with(Trouble::not_allowed,
                            title_ + ": " + printable(entries[i].path) + ":" + std::to_string(line) +
                                ": has conflict markers; resolve the conflict and push again");
    TRY(const auto folder, on_this_machine(CacheFolder::make(settings_.cache)));
    for (std::size_t i = 0; i < entries.size(); ++i) {
      TRY_DONE(may_continue(call, title_));
      TRY_DONE(on_this_machine(write_new_file(folder->path(), entries[i].path, contents[i])));
    }
    return std::shared_ptr<const SourceFolder>(folder);
  }

  GitSettings settings_;
  std::string title_;
  std::string signers_;           // as they were when `last_` was verified
  std::optional<Revision> last_;  // what was returned last, so that an unchanged commit is not fetched again
};

}  // namespace

Result<std::unique_ptr<Source>> make_git_source(GitSettings settings) {
  TRY_DONE(check_git_settings(settings));
  remove_leftovers(settings.cache);
  return std::unique_ptr<Source>(std::make_unique<GitRepository>(std::move(settings)));
}

}  // namespace lockstep
