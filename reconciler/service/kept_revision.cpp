#include "reconciler/service/kept_revision.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "reconciler/service/stored_fields.hpp"
#include "reconciler/source/cache_folder.hpp"
#include "specs/files/own_folder.hpp"
#include "specs/files/read_file.hpp"
#include "specs/files/replace_file.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// Of five revisions, twice what a source hands out at most (GitSettings, FolderSettings), as names come on
// top.
constexpr std::size_t kMost = std::size_t{5} * (128 << 20);

Result<std::string> whole(FileText file) {
  if (file) return std::move(file.text);
  return Error{ErrorKind::refused, std::move(file.why)};
}

std::string file_of(const std::string& folder) { return folder + "/kept.cbor"; }

Result<Json> files_of(const std::string& folder) {
  Json out = Json::object();
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().lexically_relative(folder).string();
    if (at->is_symlink()) {
      out[name] = {{"link", fs::read_symlink(at->path(), error).string()}};
    } else if (at->is_regular_file()) {
      TRY(std::string text, whole(read_named(at->path().string(), kMost)));
      out[name] = {{"text", std::move(text)}};
    }
  }
  if (error) return Error{ErrorKind::refused, "can't read " + folder + ": " + error.message()};
  return out;
}

bool is_inside(const std::string& name) {
  const fs::path path = fs::path(name).lexically_normal();
  return !name.empty() && !path.is_absolute() && *path.begin() != ".." && path == fs::path(name);
}

Result<Done> write_one(const std::string& folder, const std::string& name, const Json& file) {
  if (!is_inside(name)) return stored::damaged("'" + name + "' is no name of a file in the folder");
  if (!file.contains("link")) {
    TRY(const std::string text, stored::text(file, "text"));
    return write_new_file(folder, name, text);
  }
  TRY(const std::string target, stored::text(file, "link"));
  std::error_code error;
  fs::create_directories(fs::path(folder + "/" + name).parent_path(), error);
  if (!error) fs::create_symlink(target, folder + "/" + name, error);
  if (error) return Error{ErrorKind::refused, "can't create " + folder + "/" + name + ": " + error.message()};
  return Done{};
}

Result<Json> revision_json(const Revision& revision) {
  TRY(Json files, files_of(revision.folder->path()));
  return Json{{"id", revision.id},     {"author", revision.author}, {"subject", revision.subject},
              {"made", revision.made}, {"signer", revision.signer}, {"files", std::move(files)}};
}

Result<Revision> read_revision(const Json& json, const std::string& folder) {
  Revision revision;
  TRY(revision.id, stored::text(json, "id"));
  TRY(revision.author, stored::text(json, "author"));
  TRY(revision.subject, stored::text(json, "subject"));
  TRY(revision.made, stored::text(json, "made"));
  TRY(revision.signer, stored::text(json, "signer"));
  TRY(const Json* const files, stored::field(json, "files"));
  if (!files->is_object()) return stored::damaged("'files' is not an object");
  TRY(std::shared_ptr<CacheFolder> into, CacheFolder::make(folder));
  for (const auto& [name, file] : files->items()) TRY_DONE(write_one(into->path(), name, file));
  revision.folder = std::move(into);
  return revision;
}

}  // namespace

Result<Done> keep_revisions(const std::vector<Revision>& revisions, const std::string& folder) {
  TRY_DONE(make_private_folder(folder));
  Json all = Json::array();
  for (const Revision& one : revisions) {
    TRY(Json json, revision_json(one));
    all.push_back(std::move(json));
  }
  const std::vector<std::uint8_t> bytes = Json::to_cbor(all);
  return replace_file(file_of(folder), {reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                      {.mode = 0600});
}

Result<std::vector<Revision>> kept_revisions(const std::string& folder) {
  remove_leftovers(folder);
  std::error_code unseen;
  std::vector<Revision> out;
  if (!fs::exists(file_of(folder), unseen)) return out;
  TRY(const std::string bytes, whole(read_named(file_of(folder), kMost)));
  const Json all = Json::from_cbor(bytes, true, false);
  if (!all.is_array()) return stored::damaged(file_of(folder));
  for (const Json& json : all) {
    TRY(Revision one, read_revision(json, folder));
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace lockstep
