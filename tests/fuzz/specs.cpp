// Specs: YAML documents, the CSV files that they name, and allocations.lock.
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "specs/compile/compile.hpp"
#include "specs/compile/explain.hpp"
#include "specs/fabric/proofs.hpp"
#include "specs/language/excerpt.hpp"
#include "specs/language/load.hpp"
#include "specs/model/printable.hpp"
#include "tests/fuzz/parsers.hpp"

namespace lockstep::fuzzing {
namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

void check_places(const Diagnostics& all, const Sources& sources) {
  for (const Diagnostic& one : all) {
    must(!one.code.empty(), "a diagnostic has a number");
    must(one.at.file > 0 && one.at.file < sources.files.size(), "a diagnostic names a file that was read");
    must(one.at.line > 0 && one.at.column > 0, "a diagnostic has a place");
    must(!one.message.empty(), "a diagnostic says what is wrong");
    for (const Related& related : one.related)
      must(related.at.line > 0 && related.at.file < sources.files.size(), "what is related has a place");
  }
  std::string shown = excerpts(all, sources, Colour::off);
  std::erase(shown, '\n');
  must(printable(shown) == shown, "an excerpt is printable");
}

// A folder of specs whose CSV file is the input. Created once, and removed at the end.
class Folder {
 public:
  Folder() {
    std::string made = fs::temp_directory_path() / "lockstep-fuzz-XXXXXX";
    must(::mkdtemp(made.data()) != nullptr, "a temporary folder can be made");
    path_ = made;
    std::ofstream(path_ / "specs.yaml")
        << "apiVersion: lockstep.dev/v1alpha1\nkind: DeviceSet\nmetadata: {name: hosts}\n"
           "spec: {role: host, drivers: [linux], from: {csv: hosts.csv}}\n";
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }
  Loaded with(std::string_view csv) const {
    std::ofstream(path_ / "hosts.csv") << csv;
    return load({path_.string()});
  }

 private:
  fs::path path_;
};

}  // namespace

void parse_specs(std::string_view input) {
  const Loaded loaded = load_text("specs.yaml", std::string(input));
  check_places(loaded.diagnostics, loaded.catalog.sources);
  CompileOptions options;
  options.max_entries = 20'000;  // chosen so that a fuzzer can compile many inputs a second
  options.threads = 1;
  // Compiling and proving specs that do not load must not crash, but the diagnostics may lack a place.
  const Compiled compiled = compile(loaded.catalog, options);
  const Diagnostics proved = prove(loaded.catalog, compiled.topology);
  if (has_errors(loaded.diagnostics)) return;
  check_places(compiled.diagnostics, loaded.catalog.sources);
  check_places(proved, loaded.catalog.sources);
  if (has_errors(compiled.diagnostics)) return;
  for (const Intent& intent : compiled.intents)
    for (const Entry& entry : intent.want.entries())
      must(static_cast<bool>(explain(compiled, loaded.catalog, intent.device, entry.path)),
           "what is wanted can be explained");
}

void parse_inventory(std::string_view input) {
  static const Folder folder;
  // A text that no message contains: only an excerpt of the file would show it.
  const Loaded loaded = folder.with(std::string(input) + "\n\"WHAT-NOBODY-MAY-SEE\n");
  check_places(loaded.diagnostics, loaded.catalog.sources);
  must(has_errors(loaded.diagnostics), "a quote that is not closed is an error");
  must(excerpts(loaded.diagnostics, loaded.catalog.sources, Colour::off).find("WHAT-NOBODY-MAY-SEE") ==
           std::string::npos,
       "no line of a CSV file is shown");
  const Loaded as_it_is = folder.with(input);
  check_places(as_it_is.diagnostics, as_it_is.catalog.sources);
}

void parse_lock(std::string_view input) {
  const Result<AllocationLock> lock = parse_allocation_lock("allocations.lock", std::string(input));
  if (!lock) {
    must(lock.error().what.starts_with("allocations.lock"), "an error names the file");
    return;
  }
  const Result<AllocationLock> again = parse_allocation_lock("allocations.lock", to_text(*lock));
  must(again && *again == *lock, "what is read, written and read again is the same");
}

std::vector<std::string> seeds_of_specs() {
  std::vector<std::string> out;
  for (const char* const folder : {"examples", "tests/cases/compile", "tests/cases/language"})
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(LOCKSTEP_SOURCE_DIR) / folder))
      if (entry.path().extension() == ".yaml" && entry.file_size() < 4096)
        out.push_back(contents(entry.path()));
  return out;
}

std::vector<std::string> seeds_of_inventory() {
  return {"name,platform,rack\ngpu1,,r1\ngpu2,linux-host,\"r,2\"\n",
          "name\r\n\"g\"\"pu1\"\r\n\r\ngpu[1-3]\r\n", "name,name\na,b\n", "platform\nx\n", ""};
}

std::vector<std::string> seeds_of_lock() {
  AllocationLock lock;
  lock.pools["Fabric/backend asn/leaf"] = {{"leaf0", 0}, {"leaf1", 1}};
  lock.pools["Fabric/backend hosts"] = {{"gpu1:rail0", 18'446'744'073'709'551'615U}};
  AllocationLock named = lock;
  named.cluster = ClusterIdentity{"rail-pod", "919108f7-52d1-4320-9bac-f847db4148a8"};
  return {to_text(lock), to_text(named), to_text({}),
          "{\"version\": 1, \"pools\": {\"a\": {\"b\": 1, \"b\": 2}}}"};
}

}  // namespace lockstep::fuzzing
