// What git prints about a repository: lists of files, contents, complaints.
#include <algorithm>
#include <filesystem>

#include "reconciler/source/git_tree.hpp"
#include "reconciler/source/git_trouble.hpp"
#include "specs/model/printable.hpp"
#include "tests/fuzz/parsers.hpp"

namespace lockstep::fuzzing {
namespace {

constexpr const char* kSecret = "s3cr3t";

void is_beneath(const std::string& path) {
  const std::filesystem::path file(path);
  must(!path.empty() && path.front() != '/' && path.back() != '/', "a path names a file beneath its folder");
  must(path.find('\0') == path.npos, "a path is a C string");
  for (const auto& part : file)
    must(part != ".." && part != "." && part != ".git" && !part.empty(), "a path stays beneath its folder");
}

}  // namespace

void parse_git(std::string_view input) {
  GitSettings limits;
  limits.max_files = 100;
  const auto printed = [](const SourceError& error) {
    std::string text = error.error.text();
    must(printable(text) == text, "a message can be shown");
    return text;
  };
  if (auto entries = parse_git_listing(input, "T"); !entries) {
    (void)printed(entries.error());
  } else if (auto checked = check_git_entries(*entries, limits, "T"); !checked) {
    (void)printed(checked.error());
  } else {
    must((*entries).size() <= limits.max_files, "no more files than the limit");
    for (const GitEntry& entry : *entries) is_beneath(entry.path);
    (void)parse_git_contents(input, *entries, "T");
  }
  const Ended ended{.well = false, .out = "", .err = std::string(input)};
  for (const auto trouble : {fetch_trouble, object_trouble})
    must(printed(trouble(ended, {.title = "T", .secrets = {kSecret}})).find(kSecret) == std::string::npos,
         "a complaint has no secret");
  if (const std::size_t line = find_conflict(input); line != 0) {
    std::size_t at = 0;
    for (std::size_t i = 1; i < line; ++i) at = input.find('\n', at) + 1;
    must(input.substr(at).starts_with("<<<<<<<"), "a conflict begins with its marker");
  }
}

std::vector<std::string> seeds_of_git() {
  const std::string hash(40, 'a');
  const std::string end(1, '\0');
  return {
      "100644 blob " + hash + "       3\ta.yaml" + end + "100755 blob " + hash + "       0\tb/c.yaml" + end,
      "120000 blob " + hash + "       3\tlink" + end,
      "160000 commit " + hash + "       -\tmodule" + end,
      "100644 blob " + hash + " 1\t../.git/config" + end,
      hash + " blob 3\nabc\n",
      "a: 1\n<<<<<<< HEAD\nb: 1\n=======\nb: 2\n>>>>>>> other\n",
      "remote: s3cr3t\nfatal: unable to access 'https://h/x/': The requested URL returned error: 403\n",
      "fatal: s3cr3ts3cr3t \x1b[31m s3cs3cr3tr3t\n"};
}

}  // namespace lockstep::fuzzing
