// `lockstep generate`: documentation generated from the program's own tables, so that fields, codes and
// options are not listed twice.
#include <algorithm>
#include <filesystem>

#include "reconciler/api/api_reference.hpp"
#include "reconciler/cli/commands.hpp"
#include "reconciler/report/spec_reference.hpp"
#include "reconciler/report/troubleshooting.hpp"
#include "specs/files/replace_file.hpp"
#include "specs/language/excerpt.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> entries_of(const std::string& folder) {
  std::vector<std::string> out;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    out.push_back(at->path().string());
  std::sort(out.begin(), out.end());
  return out;
}

// The first diagnostic of that code; empty: there is none.
std::string diagnostic_of(const std::string& specs, const std::string& code) {
  const Result<OpenedCluster> cluster = load_cluster({.specs = {specs}});
  if (!cluster) return "";
  for (const Diagnostics* const all : {&cluster->diagnostics, &cluster->without_effect})
    for (const Diagnostic& one : *all)
      if (one.code == code) return excerpt(one, cluster->catalog.sources, Colour::off);
  return "";
}

}  // namespace

int run_generate_spec_reference(const std::vector<std::string>& examples, const Console& console) {
  const Result<FieldExamples> found = field_examples(examples);
  if (!found) return console.fail(found.error());
  console.print_format(spec_reference(*found));
  return kExitInSync;
}

int run_generate_troubleshooting(const std::vector<std::string>& folders, const Console& console) {
  std::map<std::string, std::string> examples;
  for (const std::string& folder : folders) {
    const std::vector<std::string> entries = entries_of(folder);
    if (entries.empty()) return console.fail_usage("no specs are in '" + folder + "'");
    for (const std::string& entry : entries) {
      const std::string name = fs::path(entry).filename().string();
      const std::string code = name.substr(0, name.find_first_of("-."));
      if (find_any_code(code) == nullptr) return console.fail_usage("'" + entry + "' is named by no code");
      if (examples.contains(code)) continue;
      std::string text = diagnostic_of(entry, code);
      // A folder (tests/cases/prove) that violates another rule first, or none, is covered by its own test.
      if (text.empty() && fs::is_regular_file(entry))
        return console.fail_usage("'" + entry + "' gives no " + code);
      if (!text.empty()) examples[code] = std::move(text);
    }
  }
  console.print_format(troubleshooting_page(examples));
  return kExitInSync;
}

int run_generate_api_reference(const Console& console) {
  console.print_format(api::api_reference());
  return kExitInSync;
}

int run_generate_man_pages(const std::map<std::string, std::string>& pages, const std::string& folder,
                           const Console& console) {
  for (const auto& [name, text] : pages)
    if (const Result<Done> written = replace_file(folder + "/" + name, text); !written)
      return console.fail(written.error());
  return kExitInSync;
}

}  // namespace lockstep
