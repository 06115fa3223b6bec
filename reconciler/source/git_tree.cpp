#include "reconciler/source/git_tree.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "specs/model/printable.hpp"

namespace lockstep {
namespace {

using Trouble = SourceTrouble;

constexpr std::size_t kDeepest = 64;        // a choice; specs have some three levels
constexpr std::size_t kLongestName = 255;   // NAME_MAX
constexpr std::size_t kLongestPath = 2048;  // a choice: half of PATH_MAX, as the cache's own path precedes it

// git-fast-import(1), filemodify; 100664 is of early versions of git.
GitEntry::Kind kind_of(std::string_view mode) {
  if (mode == "100644" || mode == "100755" || mode == "100664") return GitEntry::Kind::file;
  if (mode == "040000") return GitEntry::Kind::folder;
  if (mode == "120000") return GitEntry::Kind::link;
  return mode == "160000" ? GitEntry::Kind::submodule : GitEntry::Kind::unknown;
}

bool parse_size(std::string_view digits, std::uint64_t& size) {
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), size);
  return failed == std::errc{} && end == digits.data() + digits.size();
}

// The text up to the first blank, which is removed with those that follow.
std::string_view next_word(std::string_view& rest) {
  const std::size_t end = std::min(rest.find(' '), rest.size());
  const std::string_view word = rest.substr(0, end);
  rest.remove_prefix(std::min(rest.find_first_not_of(' ', end), rest.size()));
  return word;
}

bool is_dot_git(std::string_view name) {
  constexpr std::string_view kDotGit = ".git";
  return std::ranges::equal(name, kDotGit,
                            [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + ('a' - 'A') : a) == b; });
}

// Empty: the path leads to a file beneath its folder.
std::string_view why_no_path(std::string_view path) {
  if (path.size() > kLongestPath) return "its path is too long";
  for (;;) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view name = path.substr(0, end);
    if (name.empty() || name == "." || name == "..") return "its path leaves its folder";
    if (is_dot_git(name)) return "its path is one of git's own";
    if (name.size() > kLongestName) return "its name is too long";
    if (end == path.size()) return "";
    path.remove_prefix(end + 1);
  }
}

std::string size_text(std::uint64_t bytes) {
  constexpr std::uint64_t kMebi = std::uint64_t{1} << 20;
  return bytes % kMebi == 0 ? std::to_string(bytes / kMebi) + " MiB" : std::to_string(bytes) + " bytes";
}

Fetched<Done> check_entry(const GitEntry& entry, const GitSettings& settings, const std::string& shown) {
  switch (entry.kind) {
    case GitEntry::Kind::file: break;
    case GitEntry::Kind::link:
      return trouble_with(Trouble::not_allowed, shown + ": is a symbolic link; replace it by a file");
    case GitEntry::Kind::submodule:
      return trouble_with(Trouble::not_allowed,
                          shown + ": is a submodule; put its files into this repository");
    case GitEntry::Kind::folder:
    case GitEntry::Kind::unknown: return trouble_with(Trouble::not_allowed, shown + ": is not a file");
  }
  if (const std::string_view why = why_no_path(entry.path); !why.empty())
    return trouble_with(Trouble::not_allowed, shown + ": " + std::string(why) + "; rename it");
  if (static_cast<std::size_t>(std::ranges::count(entry.path, '/')) >= kDeepest)
    return trouble_with(Trouble::too_large,
                        shown + ": is more than " + std::to_string(kDeepest) + " folders deep; move it");
  if (entry.size > settings.max_file_bytes)
    return trouble_with(Trouble::too_large, shown + ": has " + size_text(entry.size) +
                                                ", and a file may have at most " +
                                                size_text(settings.max_file_bytes));
  return Done{};
}

}  // namespace

Fetched<std::vector<GitEntry>> parse_git_listing(std::string_view listing, const std::string& title) {
  std::vector<GitEntry> out;
  while (!listing.empty()) {
    const std::size_t end = listing.find('\0');
    const std::size_t tab = listing.find('\t');
    if (end == listing.npos || tab == listing.npos || tab > end)
      return trouble_with(Trouble::broken, title + ": git lists its files in a form that is not supported");
    std::string_view about = listing.substr(0, tab);
    GitEntry entry;
    entry.kind = kind_of(next_word(about));
    (void)next_word(about);  // the type, which follows from the mode
    entry.hash = next_word(about);
    entry.path = listing.substr(tab + 1, end - tab - 1);
    if (entry.kind == GitEntry::Kind::file && !parse_size(about, entry.size))
      return trouble_with(Trouble::broken, title + ": " + printable(entry.path) + " has no size");
    out.push_back(std::move(entry));
    listing.remove_prefix(end + 1);
  }
  return out;
}

Fetched<Done> check_git_entries(const std::vector<GitEntry>& entries, const GitSettings& settings,
                                const std::string& title) {
  if (entries.size() > settings.max_files)
    return trouble_with(Trouble::too_large, title + ": has more than " + std::to_string(settings.max_files) +
                                                " files; choose a folder with path");
  std::uint64_t total = 0;
  for (const GitEntry& entry : entries) {
    TRY_DONE(check_entry(entry, settings, title + ": " + printable(entry.path)));
    total += entry.size;
  }
  if (total > settings.max_bytes)
    return trouble_with(Trouble::too_large, title + ": its files have " + size_text(total) +
                                                ", and may have at most " + size_text(settings.max_bytes));
  return Done{};
}

Fetched<std::vector<std::string_view>> parse_git_contents(std::string_view printed,
                                                          const std::vector<GitEntry>& entries,
                                                          const std::string& title) {
  std::vector<std::string_view> out;
  for (const GitEntry& entry : entries) {
    const std::string head = entry.hash + " blob " + std::to_string(entry.size) + "\n";
    if (!printed.starts_with(head) || printed.size() <= head.size() + entry.size)
      return trouble_with(Trouble::broken, title + ": " + printable(entry.path) + " can't be read");
    out.push_back(printed.substr(head.size(), entry.size));
    printed.remove_prefix(head.size() + entry.size + 1);
  }
  return out;
}

std::size_t find_conflict(std::string_view text) {
  enum class Expected : std::uint8_t { ours, separator, theirs };
  Expected expected = Expected::ours;
  std::size_t begins = 0;
  const auto marks = [](std::string_view line, std::string_view marker) {
    return line.starts_with(marker) && (line.size() == marker.size() || line[marker.size()] == ' ');
  };
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (marks(line, "<<<<<<<")) {
      expected = Expected::separator;
      begins = number;
    } else if (expected == Expected::separator && marks(line, "=======")) {
      expected = Expected::theirs;
    } else if (expected == Expected::theirs && marks(line, ">>>>>>>")) {
      return begins;
    }
  }
  return 0;
}

}  // namespace lockstep
