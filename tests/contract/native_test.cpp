// The native commands of every row that a driver of a real device writes, for its samples: added, changed and
// removed. tests/contract/native has the recordings; LOCKSTEP_UPDATE=1 updates them.
#include <cstdlib>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>

#include "drivers/frr/driver.hpp"
#include "drivers/linux/capabilities.hpp"
#include "drivers/linux/map.hpp"
#include "drivers/linux/part.hpp"
#include "specs/model/schema_rows.hpp"
#include "tests/contract/contract.hpp"

namespace lockstep::contract {
namespace {

// A machine that does not exist, so that no command depends on this one.
LinuxTarget nowhere(bool software_rate) {
  LinuxTarget out;
  out.software_rate = software_rate;
  out.root = "/nonexistent";
  return out;
}

using Words = std::function<std::string(const Change&)>;

std::string words_of(RowId row, const Words& words) {
  const Sample* const sample = sample_of(row);
  if (sample == nullptr) return "no sample of " + std::string(schema_row(row).pattern) + "\n";
  const Path at = path(sample->entry);
  std::string out = sample->entry + "\n  made: " + words({at, {}, sample->first, 0}) + "\n";
  if (sample->second) out += "  changed: " + words({at, sample->first, sample->second, 0}) + "\n";
  return out + "  removed: " + words({at, sample->second ? sample->second : sample->first, {}, 0}) + "\n";
}

// Sorted by text, because the order of rows is up to the driver.
void expect_recorded(const std::set<std::string>& all, const std::string& name) {
  std::string words;
  for (const std::string& one : all) words += one;
  const std::string file = std::string(LOCKSTEP_SOURCE_DIR) + "/tests/contract/native/" + name;
  if (std::getenv("LOCKSTEP_UPDATE") != nullptr) std::ofstream(file) << words;
  std::ostringstream recorded;
  recorded << std::ifstream(file).rdbuf();
  EXPECT_EQ(words, recorded.str()) << "if this is as it should be: LOCKSTEP_UPDATE=1 records " << file;
}

// RED needs software queues, and mqprio needs hardware queues.
bool is_given(RowId row, Carrier carrier) {
  const bool marks = schema_row(row).pattern.starts_with("interface[*]/class[*]/ecn-");
  return why_not_given(row, carrier).empty() && !(marks && carrier == Carrier::mqprio);
}

TEST(NativeWords, OfThePartsOfLinux) {
  std::set<std::string> out;
  for (const auto& part : linux_parts(nowhere(true)))
    for (const RowId row : part->writes())
      out.insert(words_of(row, [&](const Change& change) { return part->native(change); }));
  const auto dcb = std::move(linux_parts(nowhere(false)).front());
  for (const RowId row : dcb->writes())
    if (linux_map::is_class_row(row))
      out.insert(words_of(row, [&](const Change& change) { return dcb->native(change); }));
  expect_recorded(out, "linux_parts.txt");
}

TEST(NativeWords, OfTheKernel) {
  std::set<std::string> out;
  for (const RowId row : linux_map::rows_written()) {
    if (!linux_map::is_class_row(row)) {
      out.insert(words_of(row, [](const Change& change) { return linux_map::native(change, Carrier::htb); }));
      continue;
    }
    for (const auto& [carrier, name] :
         {std::pair(Carrier::htb, "HTB: "), {Carrier::ets, "ETS: "}, {Carrier::mqprio, "mqprio: "}})
      if (is_given(row, carrier))
        out.insert(name +
                   words_of(row, [&](const Change& change) { return linux_map::native(change, carrier); }));
  }
  expect_recorded(out, "linux.txt");
}

// The prerequisites of a sample exist, and the entries of its commit unit change together.
TEST(NativeWords, OfFrr) {
  const Attached frr = make_frr_driver(FrrTarget{});
  const auto traits = frr.driver->traits(soon());
  ASSERT_TRUE(traits);
  std::set<std::string> out;
  for (const RowId row : traits->writes) {
    const Sample* const sample = sample_of(row);
    ASSERT_NE(sample, nullptr) << schema_row(row).pattern;
    ChangeSet there;
    for (const auto& [entry, value] : sample->before) there.push_back({path(entry), value, value, 0});
    const auto words = [&](const Change& change) {
      ChangeSet all = there;
      all.push_back(change);
      for (const auto& [entry, value] : sample->together)
        all.push_back({path(entry), change.want ? Value{} : value, change.want ? value : Value{}, 0});
      std::string lines;
      for (const std::string& line : frr.preview->native(all)) lines += "\n    " + line;
      return lines;
    };
    out.insert(words_of(row, words));
  }
  expect_recorded(out, "frr.txt");
}

}  // namespace
}  // namespace lockstep::contract
