// The completion script for bash, run by bash itself.
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>

#include "said.hpp"

namespace lockstep {
namespace {

// The completions that are offered for the last of these words, one per line.
std::string offered(const std::string& words, int at) {
  char name[] = "/tmp/lockstep-completion-XXXXXX";
  const int file = mkstemp(name);
  close(file);
  std::ofstream(name) << say({"completion", "bash"}).out << "COMP_WORDS=(" << words << "); COMP_CWORD=" << at
                      << "; _lockstep; echo \"${COMPREPLY[@]}\"\n";
  const std::unique_ptr<FILE, int (*)(FILE*)> bash(popen(("bash " + std::string(name)).c_str(), "r"), pclose);
  std::array<char, 65536> line{};
  std::string out = std::fgets(line.data(), line.size(), bash.get()) != nullptr ? line.data() : "";
  unlink(name);
  return out;
}

TEST(Completion, OffersCommandsOptionsAndTheirValues) {
  EXPECT_EQ(offered("lockstep dri", 1), "drift\n");
  EXPECT_EQ(offered("lockstep twin st", 2), "status\n");
  EXPECT_EQ(offered("lockstep drift --form", 2), "--format\n");
  EXPECT_EQ(offered("lockstep drift --format ''", 3), "github gitlab json junit markdown sarif text\n");
  EXPECT_EQ(offered("lockstep drift --format gi", 3), "github gitlab\n");
  EXPECT_EQ(offered("lockstep twin list -o y", 4), "yaml\n");
  EXPECT_EQ(offered("lockstep apply --part", 2), "--partial\n");
  EXPECT_EQ(offered("lockstep bench --rep", 2), "--report\n");
  EXPECT_EQ(offered("lockstep topology --dr", 2), "--drift\n");
  EXPECT_EQ(offered("lockstep topology --be", 2), "--bench\n");
  EXPECT_EQ(offered("lockstep apply --approve d", 3), "drain\n");
  EXPECT_EQ(offered("lockstep ca re", 2), "revoke\n");
  EXPECT_EQ(offered("lockstep ca issue lab --ren", 4), "--renew\n");
  EXPECT_EQ(offered("lockstep ca issue lab --role ''", 5),
            "admin controller device operator reader service viewer\n");
}

TEST(Completion, OffersTheValuesOfAnArgument) {
  EXPECT_EQ(offered("lockstep schema Roc", 2), "RoceProfile\n");
  EXPECT_EQ(offered("lockstep twin break pod mt", 4), "mtu\n");
  EXPECT_EQ(offered("lockstep completion z", 2), "zsh\n");
}

}  // namespace
}  // namespace lockstep
