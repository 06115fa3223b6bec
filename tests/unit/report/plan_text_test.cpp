#include "reconciler/report/plan_text.hpp"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

DeviceState noticed(const std::string& device, std::vector<std::string> notes) {
  DeviceState out;
  out.device = device;
  out.observation.notes = std::move(notes);
  return out;
}

TEST(NotesText, TellsANoteOnceWithTheDevicesThatHaveIt) {
  EXPECT_EQ(notes_text({noticed("gpu1", {"rail0: a DCBX peer announces PFC of priority 4, and is willing"}),
                        noticed("gpu2", {"rail0: a DCBX peer announces PFC of priority 4, and is willing"}),
                        noticed("gpu3", {})},
                       Terminal{}),
            "noticed: rail0: a DCBX peer announces PFC of priority 4, and is willing  gpu[1-2]\n");
}

}  // namespace
}  // namespace lockstep
