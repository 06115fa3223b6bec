// The test program is its own probe: run() starts /proc/self/exe.
#include <gtest/gtest.h>

#include <string_view>

#include "bench/tcp/run.hpp"

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "probe") return lockstep::bench::probe_main(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
