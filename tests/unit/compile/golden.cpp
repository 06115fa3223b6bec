#include "tests/unit/compile/golden.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "specs/language/hostlist.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep::golden {
namespace fs = std::filesystem;

std::vector<fs::path> folders() {
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(fs::path(LOCKSTEP_SOURCE_DIR) / "tests/cases/compile"))
    if (entry.is_directory()) out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

Case read(const fs::path& folder) {
  Case out;
  out.name = folder.filename();
  out.folder = folder;
  fs::path specs = folder;
  std::ifstream options(folder / "options.txt");
  for (std::string word, value; options >> word >> value;) {
    if (word == "twin") out.options.twin = TwinScale{(*parse_bit_rate(value)).bits_per_second};
    if (word == "today") out.options.today = *parse_date(value);
    if (word == "specs") specs = fs::path(LOCKSTEP_SOURCE_DIR) / value;
    if (word == "renumber") out.options.allocation.renumber = value == "true";
    if (word == "devices") {
      const auto names = expand_hostlist(value);
      out.devices.insert(names->begin(), names->end());
    }
    if (word == "entries") out.entries.push_back(value);
    if (word == "diagnostics") out.diagnostics_only = true;
  }
  const auto lock = read_allocation_lock(folder.string());
  EXPECT_TRUE(lock) << lock.error().what;
  if (lock) out.options.allocation.lock = *lock;
  out.loaded = load({specs.string()});
  return out;
}

std::string position(const Sources& sources, Position at) {
  const std::string name = fs::path(sources.files[at.file].name).filename();
  return name + ":" + std::to_string(at.line) + ":" + std::to_string(at.column);
}

namespace {

void print(const Sources& sources, const Diagnostics& diagnostics, std::ostream& out) {
  for (const Diagnostic& one : diagnostics) {
    out << position(sources, one.at) << ": " << (one.severity == Severity::error ? "error" : "warning")
        << ": " << one.code << ": " << one.message << "\n";
    if (!one.hint.empty()) out << "  hint: " << one.hint << "\n";
    for (const Related& related : one.related)
      out << "  " << position(sources, related.at) << ": " << related.message << "\n";
  }
}

std::string origin_text(const Sources& sources, const Origin& origin) {
  return position(sources, origin.at) + " " + origin.object + " " + origin.rule;
}

void print(const Case& one, const Compiled& compiled, const Intent& intent, std::ostream& out) {
  const Sources& sources = one.loaded.catalog.sources;
  static constexpr std::string_view kConduct[] = {"observe", "converge", "suspended"};
  out << "\n# " << intent.device << " (" << kConduct[static_cast<std::size_t>(intent.conduct)]
      << (intent.apply_allowed ? "" : ", not applied") << ")\n";
  const auto shown = [&one](const std::string& path) {
    return one.entries.empty() ||
           std::any_of(one.entries.begin(), one.entries.end(),
                       [&](const std::string& begin) { return path.starts_with(begin); });
  };
  for (const Entry& entry : intent.want.entries())
    if (shown(entry.path.text()))
      out << entry.path.text() << " = " << entry.value.to_string() << "  <- "
          << origin_text(sources, compiled.origins[entry.origin]) << "\n";
  for (const Overruled& overruled : intent.overruled)
    out << "overruled: " << overruled.path.text() << " = " << overruled.want.to_string() << "  <- "
        << origin_text(sources, compiled.origins[overruled.origin]) << "; by "
        << origin_text(sources, compiled.origins[overruled.by]) << "\n";
  if (!one.entries.empty()) return;
  for (const Claim& claim : intent.claims) {
    out << "claim: " << schema_row(claim.collection).pattern;
    for (const std::string& key : claim.keys) out << " " << key;
    if (claim.within) out << " within " << claim.within->text();
    out << "  <- " << origin_text(sources, compiled.origins[claim.origin]) << "\n";
  }
}

}  // namespace

std::string print(const Case& one, const Compiled& compiled) {
  std::ostringstream out;
  print(one.loaded.catalog.sources, one.loaded.diagnostics, out);
  print(one.loaded.catalog.sources, compiled.diagnostics, out);
  print(one.loaded.catalog.sources, compiled.by_hand, out);
  if (one.diagnostics_only) return out.str();
  for (const Intent& intent : compiled.intents)
    if (one.devices.empty() || one.devices.contains(intent.device)) print(one, compiled, intent, out);
  return out.str();
}

}  // namespace lockstep::golden
