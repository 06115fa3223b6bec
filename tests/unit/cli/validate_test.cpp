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

}  // namespace
}  // namespace lockstep
