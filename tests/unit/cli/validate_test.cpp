// `lockstep validate`: what is only noted does not fail --strict.
#include <nlohmann/json.hpp>

#include "said.hpp"
#include "specs_copy.hpp"

namespace lockstep {
namespace {

TEST(Validate, ShippedExamplesPassStrictWithNotesOnly) {
  for (const char* const example : {"rail-pod", "big-pod", "one-host"}) {
    const Answer said =
        say({"validate", "--strict", std::string(LOCKSTEP_SOURCE_DIR "/examples/") + example});
    EXPECT_EQ(said.code, 0) << said.err;
    EXPECT_EQ(said.err.find("warning"), std::string::npos) << said.err;
  }
}

TEST(Validate, StrictStillFailsOnAWarning) {
  SpecsCopy copy;
  copy.replace("roce.yaml", "detectionTime: 200ms, restorationTime: 400ms, action: drop",
               "detectionTime: 200ms")
      .replace("roce.yaml", "  pfc: {watchdog", "  # pfc: {watchdog");
  const Answer said = say({"validate", "--strict", copy.path()});
  EXPECT_EQ(said.code, 1) << said.out;
  EXPECT_NE(said.err.find("warning LS116"), std::string::npos) << said.err;
  EXPECT_EQ(say({"validate", copy.path()}).code, 0);
}

TEST(Validate, NotesOnceWhichSwitchesDeclareNoPorts) {
  SpecsCopy copy;
  const Answer said = say({"validate", copy.path()});
  const std::string note =
      "note LS1025: leaf[0-1],spine[0-1] declare no ports, so the port names of their cables are not "
      "checked\n";
  const std::size_t at = said.err.find(note);
  ASSERT_NE(at, std::string::npos) << said.err;
  EXPECT_EQ(said.err.find("LS1025", at + note.size()), std::string::npos) << said.err;
  EXPECT_NE(said.out.find("all proofs hold, 2 notes\n"), std::string::npos) << said.out;
  const nlohmann::json document = nlohmann::json::parse(say({"validate", "-o", "json", copy.path()}).out);
  EXPECT_EQ(document["notes"], 2);
  EXPECT_EQ(document["warnings"], 0);

  copy.replace("devices.yaml", "  names: leaf[0-1]\n",
               "  names: leaf[0-1]\n  ports: [{name: \"swp[1-4]\"}, {name: \"up[0-1]\"}]\n");
  EXPECT_NE(say({"validate", copy.path()}).err.find("note LS1025: spine[0-1] declare no ports"),
            std::string::npos);
}

TEST(Validate, NamesTheLineOfThePortsThatACableIsNotIn) {
  SpecsCopy copy;
  copy.replace("devices.yaml", "  names: leaf[0-1]\n",
               "  names: leaf[0-1]\n  ports: [{name: \"swp[1-3]\"}, {name: \"up[0-1]\"}]\n");
  const Answer said = say({"validate", copy.path()});
  EXPECT_EQ(said.code, 1);
  const std::size_t at = said.err.find("its ports are declared here\n");
  ASSERT_NE(at, std::string::npos) << said.err;
  EXPECT_EQ(said.err.compare(said.err.find("| ", at) + 2, 10, "  ports: ["), 0) << said.err;
}

nlohmann::json findings_of(const SpecsCopy& copy) {
  return nlohmann::json::parse(say({"validate", "--strict", "--format", "gitlab", copy.path()}).out);
}

TEST(ValidateFindings, NotesAreNone) {
  const SpecsCopy copy;
  EXPECT_EQ(findings_of(copy), nlohmann::json::array());
  const Answer said = say({"validate", "--format", "github", copy.path()});
  EXPECT_EQ(said.code, 0);
  EXPECT_EQ(said.out, "");
}

TEST(ValidateFindings, KeepTheirFingerprintWhenTheirLineMoves) {
  SpecsCopy copy;
  copy.replace("fabric.yaml", "{host: 9000, fabric: 9216}", "{host: 9216, fabric: 9000}");
  const nlohmann::json before = findings_of(copy);
  ASSERT_EQ(before.size(), 1U);
  copy.replace("fabric.yaml", "apiVersion:", "# a line above\napiVersion:");
  const nlohmann::json after = findings_of(copy);
  EXPECT_EQ(after[0]["fingerprint"], before[0]["fingerprint"]);
  EXPECT_NE(after[0]["location"], before[0]["location"]);
}

// GitLab drops a finding whose fingerprint another one has.
TEST(ValidateFindings, TheSameMistakeTwiceHasTwoFingerprints) {
  SpecsCopy copy;
  copy.replace("devices.yaml", "role: leaf", "role: lief")
      .replace("devices.yaml", "role: spine", "role: lief");
  const nlohmann::json findings = findings_of(copy);
  ASSERT_EQ(findings.size(), 2U) << findings;
  EXPECT_EQ(findings[0]["description"], findings[1]["description"]);
  EXPECT_NE(findings[0]["fingerprint"], findings[1]["fingerprint"]);
}

TEST(ValidateFindings, WarningsAreErrorsOnlyIfStrict) {
  SpecsCopy copy;
  copy.replace("roce.yaml", "  pfc: {watchdog", "  # pfc: {watchdog");
  EXPECT_EQ(findings_of(copy)[0]["severity"], "critical");
  const Answer said = say({"validate", "--format", "github", copy.path()});
  EXPECT_EQ(said.code, 0);
  EXPECT_TRUE(said.out.starts_with("::warning file=")) << said.out;
}

TEST(ValidateFindings, SpecsThatCannotBeReadAreOne) {
  const Answer said = say({"validate", "--format", "github", "/nonexistent"});
  EXPECT_EQ(said.code, 1);
  EXPECT_TRUE(said.out.starts_with("::error ")) << said.out;
  EXPECT_EQ(say({"validate", "--format", "github", "-o", "json", "."}).code, 1);
}

}  // namespace
}  // namespace lockstep
