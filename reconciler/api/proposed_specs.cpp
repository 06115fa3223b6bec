#include "reconciler/api/proposed_specs.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reconciler/api/json_body.hpp"
#include "reconciler/engine/digest.hpp"
#include "specs/language/words.hpp"
#include "specs/model/printable.hpp"

namespace lockstep::api {
namespace {

using Json = nlohmann::json;

std::string why_not_a_path(std::string_view path) {
  if (path.empty()) return "is empty";
  if (path.size() > kProposedPathMax) return "is longer than " + std::to_string(kProposedPathMax) + " bytes";
  if (printable(path) != path) return "has characters that are not printable";
  for (std::size_t from = 0; from <= path.size();) {
    const std::size_t end = std::min(path.find('/', from), path.size());
    const std::string_view name = path.substr(from, end - from);
    from = end + 1;
    if (name.empty()) return "must be relative, without empty names";
    if (name.starts_with('.')) return "must not lead out of the folder, nor have hidden names";
    if (name.size() > kProposedNameMax)
      return "has a name of more than " + std::to_string(kProposedNameMax) + " bytes";
  }
  return "";
}

Result<Done> take_files(const Json& json, std::map<std::string, std::string>& files) {
  if (!json.is_object() || json.empty())
    return wrong_body("'files' must be an object with the text of each file, by its path");
  if (json.size() > kProposedFilesMax)
    return wrong_body("'files' has more than " + std::to_string(kProposedFilesMax) + " files");
  for (const auto& [path, text] : json.items()) {
    const std::string shown = "file '" + printable(std::string_view(path).substr(0, kProposedNameMax)) + "'";
    if (const std::string why = why_not_a_path(path); !why.empty())
      return wrong_body(shown + ": its path " + why);
    if (!text.is_string()) return wrong_body(shown + ": must be a text");
    files.emplace(path, text.get<std::string>());
  }
  for (const auto& [path, text] : files)
    for (std::size_t end = path.find('/'); end != path.npos; end = path.find('/', end + 1))
      if (files.contains(path.substr(0, end)))
        return wrong_body("file '" + path.substr(0, end) + "' is a folder, too");
  return Done{};
}

Result<std::string> text_in(const std::string& name, const Json& json) {
  if (!json.is_string()) return wrong_body("'" + name + "' must be a text");
  const auto& text = json.get_ref<const std::string&>();
  if (text.size() > kProposedTextMax)
    return wrong_body("'" + name + "' is longer than " + std::to_string(kProposedTextMax) + " bytes");
  if (printable(text) != text) return wrong_body("'" + name + "' has characters that are not printable");
  return text;
}

Result<Done> take_field(const std::string& name, const Json& value, ProposedSpecs& out) {
  if (name == "files") return take_files(value, out.files);
  if (name == "folder" || name == "only") {
    std::string& to = name == "folder" ? out.folder : out.only;
    TRY(to, text_in(name, value));
    return Done{};
  }
  if (name == "details") {
    if (!value.is_boolean()) return wrong_body("'details' must be true or false");
    out.details = value.get<bool>();
    return Done{};
  }
  if (name != "text")
    return wrong_body("unknown field '" + printable(name) +
                      "'; plan has 'files', 'folder', 'only', 'details' and 'text'");
  const auto text = value.is_string() ? spelled<PlanText>(value.get<std::string>()) : std::nullopt;
  if (!text) return wrong_body("'text' must be none, plain or colour");
  out.text = *text;
  return Done{};
}

}  // namespace

Result<ProposedSpecs> parse_proposed_specs(std::string_view body) {
  constexpr std::size_t kOthers = 16;  // the body, its other fields, and room for what is refused by name
  TRY(const Json json, parse_json_body(body, kProposedFilesMax + kOthers));
  ProposedSpecs out;
  for (const auto& [name, value] : json.items()) TRY_DONE(take_field(name, value, out));
  if (out.files.empty()) return wrong_body("'files' is missing: the specs to plan");
  return out;
}

std::string summary_of(const ProposedSpecs& specs) {
  Digest digest;
  for (const auto& [path, text] : specs.files) {
    digest.add(path);
    digest.add(text);
  }
  return std::to_string(specs.files.size()) + (specs.files.size() == 1 ? " file, " : " files, ") +
         digest.finish();
}

}  // namespace lockstep::api
