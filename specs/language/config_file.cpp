#include "specs/language/config_file.hpp"

#include <utility>

#include "specs/files/absolute_path.hpp"
#include "specs/language/api_version.hpp"
#include "specs/language/codes.hpp"
#include "specs/language/excerpt.hpp"
#include "specs/language/node.hpp"

namespace lockstep {

void check_config_head(const Said<std::string>& version, const Said<std::string>& kind,
                       std::string_view right, Reporter& reporter) {
  const auto is = [&](const Said<std::string>& said, std::string_view wanted, std::string_view code) {
    if (said.said && *said != wanted)
      reporter.error(code, {said.at, static_cast<std::uint32_t>(said->size())}, "this is " + in_quotes(*said),
                     "write " + std::string(wanted));
  };
  is(version, api_version, code::unknown_api_version);
  is(kind, right, code::unknown_kind);
}

Result<Done> load_config(const std::string& file, std::string text, const Type& type, void* document,
                         const ConfigWords& words) {
  Sources sources;
  Diagnostics wrong;
  Reporter reporter(sources, wrong);
  const std::uint32_t index = sources.add(file, std::move(text));
  std::size_t documents = 0;
  read_documents(index, reporter, [&](const Node& root) {
    if (++documents > 1)
      return reporter.error(code::written_twice, span_of(root), "a second document", std::string(words.one));
    type.load(type, {}, root, document, reporter);
  });
  if (documents == 0 && !reporter.incomplete())
    reporter.error(code::no_specs, {{index, 0, 0}, 1}, "nothing is written here", std::string(words.hint));
  reporter.finish();
  if (has_errors(wrong)) return Error{ErrorKind::invalid_spec, excerpts(wrong, sources, Colour::off)};
  return Done{};
}

std::string file_beside(const std::string& config, const std::string& name) {
  return absolute_path(std::filesystem::path(config).parent_path() / name);
}

}  // namespace lockstep
