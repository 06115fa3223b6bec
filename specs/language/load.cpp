#include "specs/language/load.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "specs/language/codes.hpp"
#include "specs/language/idle_fields.hpp"
#include "specs/language/inventory.hpp"
#include "specs/language/kind_rows.hpp"
#include "specs/language/references.hpp"
#include "specs/language/text_file.hpp"
#include "specs/model/near_miss.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

// Total size limit of one load: a few hundred of the largest files (16 MiB), far above any cluster's specs.
constexpr std::size_t total_size_limit = std::size_t{4} << 30;

constexpr std::string_view document_keys[] = {"apiVersion", "kind", "metadata", "spec", "status"};

class Loader {
 public:
  explicit Loader(Loaded& out)
      : out_(out), reporter_(out.catalog.sources, out.diagnostics, &out.without_effect) {}

  void file(std::string name, std::string text, const std::string& folder) {
    const std::uint32_t file = out_.catalog.sources.add(std::move(name), std::move(text));
    out_.catalog.sources.files[file].folder = folder;
    if (is_platform(out_.catalog.sources.files[file])) return out_.catalog.platform_files.push_back(file);
    read_documents(file, reporter_, [this](const Node& root) {
      ++documents_;
      document(root);
    });
  }
  Reporter& reporter() { return reporter_; }
  // Number of documents examined, whether valid or not.
  std::size_t documents() const { return documents_; }
  // A position for errors about a path as a whole: its name is a source without text.
  Span whole(std::string name) { return {{out_.catalog.sources.add(std::move(name), ""), 0, 0}, 1}; }
  // In the folder `platforms` of the loaded folder, and no spec document.
  static bool is_platform(const SourceFile& file) {
    const bool is_there = fs::path(file.name).parent_path().lexically_normal() ==
                          (fs::path(file.folder) / "platforms").lexically_normal();
    return is_there && !has_specs(file.text);
  }
  static bool has_specs(const std::string& text) {
    return text.starts_with("apiVersion:") || text.find("\napiVersion:") != text.npos;
  }

  // Reads the other files that the specs name, and checks references between objects.
  void finish() {
    read_inventories(out_.catalog, reporter_);
    check_references(out_.catalog, reporter_);
    reporter_.finish();
  }

 private:
  void document(const Node& root) {
    if (root.shape != Node::Shape::map) {
      reporter_.error(code::not_a_map, span_of(root),
                      "a document must be a map with apiVersion, kind, metadata and spec");
      return;
    }
    check_keys(root);
    const bool version = check_version(root);
    const KindRow* kind = find_row(root);
    if (version && kind != nullptr) object(root, *kind);
  }

  void check_keys(const Node& root) {
    for (const auto& [key, value] : root.fields) {
      if (std::find(std::begin(document_keys), std::end(document_keys), key->text) != std::end(document_keys))
        continue;
      const std::string_view near = nearest(key->text, document_keys);
      reporter_.error(code::unknown_field, span_of(*key),
                      "unknown field " + in_quotes(key->text) + " in a document",
                      near.empty() ? "a document has apiVersion, kind, metadata and spec"
                                   : "did you mean '" + std::string(near) + "'?");
    }
  }

  bool check_version(const Node& root) {
    const Node* version = root.find("apiVersion");
    if (version == nullptr) {
      reporter_.error(code::missing_field, span_of(root), "'apiVersion' is missing",
                      "write apiVersion: " + std::string(api_version));
      return true;  // the rest can still be checked
    }
    if (version->shape == Node::Shape::scalar && version->text == api_version) return true;
    reporter_.error(code::unknown_api_version, span_of(*version),
                    "unknown apiVersion " + in_quotes(version->text), "write " + std::string(api_version));
    return false;
  }

  const KindRow* find_row(const Node& root) {
    const Node* kind = root.find("kind");
    if (kind == nullptr) {
      reporter_.error(code::missing_field, span_of(root), "'kind' is missing", "such as kind: DeviceSet");
      return nullptr;
    }
    if (const KindRow* row = find_kind(kind->text)) return row;
    std::vector<std::string_view> names;
    for (const KindRow& row : kind_rows()) names.push_back(row.name);
    if (kind->text == "HostPolicy") {
      reporter_.error(code::unknown_kind, span_of(*kind), "a HostPolicy is no spec: it belongs to the host",
                      "write it to /etc/lockstep/host.yaml there (lockstep host-policy init)");
      return nullptr;
    }
    const std::string_view near = nearest(kind->text, names);
    std::string known = "known kinds:";
    for (const std::string_view name : names)
      known += (name == names.front() ? " " : ", ") + std::string(name);
    reporter_.error(code::unknown_kind, span_of(*kind), "unknown kind " + in_quotes(kind->text),
                    near.empty() ? known : "did you mean '" + std::string(near) + "'?");
    return nullptr;
  }

  void object(const Node& root, const KindRow& kind) {
    const Slotted slot = kind.add(out_.catalog);
    slot.object->at = root.at;
    if (const Node* metadata = root.find("metadata")) {
      const Type& type = metadata_type();
      type.load(type, {}, *metadata, &slot.object->metadata, reporter_);
    } else {
      reporter_.error(code::missing_field, span_of(root), "'metadata' is missing",
                      "write metadata: {name: NAME}");
    }
    const Type& type = kind.spec();
    if (is_idle(type.noun, "")) reporter_.has_no_effect(span_of(*root.find("kind")), std::string(type.noun));
    if (const Node* spec = root.find("spec")) {
      load_spec(*spec, type, slot);
    } else {
      reporter_.error(code::missing_field, span_of(root), "'spec' is missing in " + std::string(type.noun));
    }
    if (const Node* status = root.find("status");
        status != nullptr && expect_map(*status, "a status", reporter_) && !kind.written_by_reconciler)
      reporter_.warning(code::status_written, span_of(*status),
                        "status is written by the reconciler; it is left out here", "remove it");
    if (!keep(kind, *slot.object)) kind.drop_last(out_.catalog);
  }

  void load_spec(const Node& spec, const Type& type, const Slotted& slot) {
    if (!expect_map(spec, type.noun, reporter_)) return;
    const Part parts[] = {{type.fields, slot.self}, {object_fields().fields, slot.object}};
    load_fields(parts, spec, type.noun, reporter_);
    if (type.check != nullptr) type.check(slot.self, span_of(spec), reporter_);
  }

  // False if an object of that name exists: the first one is kept.
  bool keep(const KindRow& kind, const Object& object) {
    if (!object.metadata.name.said) return true;
    const auto [at, fresh] =
        seen_.emplace(std::string(kind.name) + "/" + *object.metadata.name, object.metadata.name.at);
    if (!fresh)
      reporter_.error(code::duplicate_object,
                      {object.metadata.name.at, static_cast<std::uint32_t>(object.metadata.name->size())},
                      at->first + " is written twice", "an object is written whole, in one place",
                      {{at->second, "first written here"}});
    return fresh;
  }

  Loaded& out_;
  Reporter reporter_;
  std::map<std::string, Position> seen_;  // "Kind/name"
  std::size_t documents_ = 0;
};

bool is_spec_file(const fs::path& path) { return path.extension() == ".yaml" || path.extension() == ".yml"; }
bool is_hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

std::string directory_of(const std::string& path) {
  std::error_code failed;
  if (path == "-") return ".";
  if (fs::is_directory(path, failed)) return path;
  const std::string parent = fs::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

class Walk {
 public:
  explicit Walk(Loader& loader) : loader_(loader) {}

  // An empty checkout must not look like a cluster without devices.
  void expect_documents(const std::string& name) {
    if (loader_.documents() > 0 || loader_.reporter().incomplete()) return;
    std::string files;
    for (const std::string& one : files_)
      files += (files.empty() ? "" : ", ") + fs::path(one).filename().string();
    loader_.reporter().error(code::no_specs, loader_.whole(name),
                             "nothing is written in " + in_quotes(name) + ": " + in_quotes(files) +
                                 (files_.size() == 1 ? " is" : " are") + " empty, or comments only",
                             "an object has apiVersion, kind, metadata and spec; `lockstep discover --draft` "
                             "writes a first draft");
  }

  void path(const std::string& name) {
    if (name == "-") return standard_input();
    std::error_code failed;
    const fs::file_status status = fs::status(name, failed);
    if (!fs::exists(status)) return unreadable(name, failed ? failed.message() : "no such file or folder");
    if (fs::is_directory(status)) return folder(name);
    if (!fs::is_regular_file(status)) return unreadable(name, "not a regular file or folder");
    const std::string beside = directory_of(name);
    file(name, beside);
    if (beside_.insert(beside).second) platforms_of(beside);
  }

 private:
  // Platforms beside a spec file that was given by name; other specs in its folder are not read.
  void platforms_of(const std::string& folder) {
    std::vector<std::string> files;
    std::error_code none;
    for (fs::directory_iterator at(fs::path(folder) / "platforms", none), end; !none && at != end;
         at.increment(none))
      if (is_spec_file(at->path()) && !is_hidden(at->path())) files.push_back(at->path().string());
    std::sort(files.begin(), files.end());
    for (const std::string& one : files) file(one, folder, true);
  }

  void unreadable(const std::string& name, const std::string& why) {
    loader_.reporter().error(code::unreadable, loader_.whole(name),
                             "cannot read " + in_quotes(name) + ": " + why);
  }

  void standard_input() {
    files_.push_back("<stdin>");
    if (auto text = read_standard_input([&] { return loader_.whole("<stdin>"); }, loader_.reporter()))
      loader_.file("<stdin>", std::move(*text), ".");
  }

  void folder(const std::string& name) {
    std::vector<std::string> files;
    std::string last = name;  // the folder to enter next is the one that can't be read
    std::error_code failed;
    // Links to folders are not followed, so that a link to a parent cannot loop.
    fs::recursive_directory_iterator at(name, failed);
    while (!failed && at != fs::recursive_directory_iterator()) {
      std::error_code ignored;
      if (is_hidden(at->path())) {
        if (at->is_directory(ignored)) at.disable_recursion_pending();
      } else if (is_spec_file(at->path()) && !at->is_directory(ignored)) {
        files.push_back(at->path().string());
      }
      last = at->path().string();
      at.increment(failed);
    }
    if (failed) unreadable(last, failed.message());
    std::sort(files.begin(), files.end());
    for (const std::string& one : files) file(one, name);
    if (files.empty() && !failed)
      loader_.reporter().error(code::no_specs, loader_.whole(name),
                               "no *.yaml or *.yml file in " + in_quotes(name),
                               "name the folder that holds the specs");
  }

  void file(const std::string& path, const std::string& folder, bool platforms_only = false) {
    const std::string name = fs::path(path).lexically_normal().string();  // no "./" in messages and documents
    if (!platforms_only) files_.push_back(name);
    if (total_ > total_size_limit)
      return loader_.reporter().error(code::too_large, loader_.whole(name),
                                      in_quotes(name) + ": all files together are larger than 4 GiB");
    auto text = read_text_file(
        folder, name, [&] { return loader_.whole(name); }, loader_.reporter());
    if (!text || (platforms_only && Loader::has_specs(*text))) return;
    total_ += text->size();
    loader_.file(name, std::move(*text), folder);
  }

  Loader& loader_;
  std::vector<std::string> files_;
  std::set<std::string> beside_;  // folders of files that were given by name
  std::size_t total_ = 0;
};

}  // namespace

Loaded load(const std::vector<std::string>& paths) {
  Loaded loaded;
  loaded.catalog.directory = paths.empty() ? "." : directory_of(paths.front());
  Loader loader(loaded);
  Walk walk(loader);
  for (const std::string& path : paths) walk.path(path);
  if (!paths.empty()) walk.expect_documents(paths.front());
  loader.finish();
  return loaded;
}

Loaded load_text(std::string name, std::string text) {
  Loaded loaded;
  loaded.catalog.directory = ".";
  Loader loader(loaded);
  loader.file(std::move(name), std::move(text), ".");
  loader.finish();
  return loaded;
}

}  // namespace lockstep
