// Which time zones specs may name: those of this machine's database, by its own list of them (tzdata.zi).
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "specs/language/codes.hpp"
#include "specs/language/load.hpp"

namespace lockstep {
namespace {

bool is_known(const std::string& zone) {
  const Loaded loaded = load_text(
      "policy.yaml",
      "apiVersion: lockstep.dev/v1alpha1\nkind: RolloutPolicy\nmetadata: {name: one}\nspec:\n  selector: {}\n"
      "  windows: [{from: '09:00', to: '17:00', timezone: '" +
          zone + "'}]\n");
  return std::ranges::none_of(loaded.diagnostics, [&zone](const Diagnostic& one) {
    return one.code == code::unknown_word && one.message.find("'" + zone + "'") != std::string::npos;
  });
}

TEST(Timezone, OfTheDatabaseIsKnown) {
  std::ifstream list("/usr/share/zoneinfo/tzdata.zi");
  std::size_t zones = 0;
  for (std::string line; std::getline(list, line);) {
    std::istringstream words(line);
    std::string kind;
    std::string name;
    words >> kind >> name;
    if (kind == "L") words >> name;  // its target comes first
    if ((kind != "Z" && kind != "L") || name == "Factory") continue;
    ++zones;
    EXPECT_TRUE(is_known(name)) << name;
  }
  EXPECT_GT(zones, 400U);
}

TEST(Timezone, OfNoDatabaseIsUnknown) {
  for (const char* const name :
       {"Europe/Belrin", "europe/berlin", "Europe", "Europe/", "/usr/share/zoneinfo/Europe/Berlin",
        "../zoneinfo/Europe/Berlin", "Europe/../Europe/Berlin", "posix/Europe/Berlin", "right/UTC",
        "posixrules", "localtime", "Factory", "zone.tab", "tzdata.zi", "../../../etc/passwd"})
    EXPECT_FALSE(is_known(name)) << name;
}

}  // namespace
}  // namespace lockstep
