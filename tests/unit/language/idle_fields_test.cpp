#include "specs/language/idle_fields.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "specs/language/kind_rows.hpp"
#include "specs/language/load.hpp"

namespace lockstep {
namespace {

// The names of the fields of every object of the language, by the noun of the object.
using Objects = std::map<std::string_view, std::set<std::string_view>>;

void add(const Type& type, Objects& all) {
  if (type.item != nullptr) add(type.item(), all);
  if (type.fields.empty()) return;
  for (const Field& field : type.fields)
    if (all[type.noun].insert(field.name).second) add(field.type(), all);
}

Objects objects() {
  Objects all;
  for (const KindRow& kind : kind_rows()) {
    add(kind.spec(), all);
    for (const Field& field : object_fields().fields) all[kind.spec().noun].insert(field.name);
  }
  return all;
}

TEST(IdleFields, ExistInTheLanguageAndAreListedOnce) {
  const Objects all = objects();
  std::set<std::pair<std::string_view, std::string_view>> known;
  for (const IdleField& one : idle_fields()) {
    const auto object = all.find(one.object);
    ASSERT_NE(object, all.end()) << one.object;
    EXPECT_TRUE(one.field.empty() || object->second.contains(one.field)) << one.object << " " << one.field;
    EXPECT_TRUE(known.emplace(one.object, one.field).second) << one.object << " " << one.field;
  }
}

// Separate from the other diagnostics, so that plan and apply need not repeat them.
TEST(IdleFields, AreReportedSeparatelyWithTheirPlace) {
  const Loaded loaded = load_text("x.yaml",
                                  "apiVersion: lockstep.dev/v1alpha1\nkind: Cluster\nmetadata: {name: a}\n"
                                  "spec:\n  mode: converge\n  scheduler: {kind: none}\n");
  EXPECT_TRUE(loaded.diagnostics.empty());
  ASSERT_EQ(loaded.without_effect.size(), 1U) << "what is within it is not told again";
  const Diagnostic& one = loaded.without_effect[0];
  EXPECT_EQ(one.at, (Position{1, 6, 3}));
  EXPECT_EQ(one.severity, Severity::warning);
  EXPECT_EQ(one.message, "'scheduler' in a Cluster has no effect yet: nothing in lockstep reads it");
}

TEST(IdleFields, AreReportedUpToTheLimitOfDiagnostics) {
  std::string text =
      "apiVersion: lockstep.dev/v1alpha1\nkind: DeviceSet\nmetadata: {name: a}\n"
      "spec:\n  names: a\n  role: host\n  drivers: [linux]\n  interfaces:\n";
  for (int i = 0; i < 1100; ++i) text += "    - {name: p" + std::to_string(i) + ", pci: ['0000:01:00.0']}\n";
  EXPECT_EQ(load_text("x.yaml", text).without_effect.size(), diagnostics_limit);
}

TEST(IdleFields, TheExamplesHaveNone) {
  for (const char* const pod : {"rail-pod", "big-pod", "one-host"}) {
    const Loaded loaded = load({std::string(LOCKSTEP_SOURCE_DIR) + "/examples/" + pod});
    for (const Diagnostic& one : loaded.without_effect) ADD_FAILURE() << pod << ": " << one.message;
  }
}

}  // namespace
}  // namespace lockstep
