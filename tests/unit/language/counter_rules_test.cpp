// Rules for the groups of counters that a DeviceSet asks for: for each, a text that breaks it, its code, and
// part of its message. The limits are those of SONiC's counterpoll.
#include <gtest/gtest.h>

#include <algorithm>

#include "specs/language/codes.hpp"
#include "specs/language/load.hpp"

namespace lockstep {
namespace {

std::string counting(std::string_view list, std::string_view role = "leaf") {
  return "apiVersion: lockstep.dev/v1alpha1\nkind: DeviceSet\nmetadata: {name: one}\nspec: {names: a, "
         "role: " +
         std::string(role) + ", drivers: [sonic], counters: [" + std::string(list) + "]}\n";
}

struct BrokenCounters {
  std::string_view code;
  std::string text;
  std::string_view message;
};

TEST(CounterRules, EachIsReportedWithItsNumber) {
  const BrokenCounters all[] = {
      {code::missing_field, counting("{interval: 1s}"), "'group' is missing"},
      {code::unknown_word, counting("{group: queue-ecns}"), "'queue-ecns' is not one of port,"},
      {code::unknown_word, counting("{group: pause-estimates}"), "'pause-estimates'"},
      {code::fields_conflict, counting("{group: queue}", "host"), "whose counters are always read"},
      {code::fields_conflict, counting("{group: watchdog, interval: 1s}"), "no interval of its own"},
      {code::out_of_range, counting("{group: queue, interval: 31s}"),
       "'31s' is no interval of the group queue"},
      {code::out_of_range, counting("{group: group-drops, interval: 999ms}"), "of the group group-drops"},
      {code::out_of_range, counting("{group: port-buffer-drops, interval: 10s}"), "port-buffer-drops"},
      {code::out_of_range, counting("{group: queue, interval: 100500us}"), "can't be set"},
      {code::out_of_range, counting("{group: queue, interval: 50ms}"), "'50ms'"},
      {code::written_twice, counting("{group: queue}, {group: port}, {group: queue, interval: 1s}"),
       "the group 'queue' is written twice"},
  };
  for (const BrokenCounters& one : all) {
    const Loaded loaded = load_text("x.yaml", one.text);
    const auto found = std::ranges::find(loaded.diagnostics, one.code, &Diagnostic::code);
    ASSERT_NE(found, loaded.diagnostics.end()) << one.text;
    EXPECT_NE(found->message.find(one.message), std::string::npos) << found->message;
    EXPECT_EQ(loaded.diagnostics.size(), 1U) << one.text;
  }
}

TEST(CounterRules, TheLimitsThemselvesAreAccepted) {
  for (const char* const list :
       {"", "{group: watchdog}", "{group: queue, interval: 100ms}", "{group: queue, interval: 30s}",
        "{group: port-buffer-drops, interval: 300s}, {group: port-wred}",
        "{group: pool-watermarks, interval: 1s}, {group: group-watermarks, interval: 1min}"})
    EXPECT_TRUE(load_text("x.yaml", counting(list)).diagnostics.empty()) << list;
}

}  // namespace
}  // namespace lockstep
