// The test program is its own supervisor: up() starts /proc/self/exe.
#include <gtest/gtest.h>

#include <string_view>

#include "reconciler/twin/supervisor.hpp"

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == lockstep::kSupervisorWord) return lockstep::supervisor_main();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
