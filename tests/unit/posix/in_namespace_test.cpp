#include "drivers/posix/in_namespace.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "specs/files/descriptor.hpp"
#include "tests/needs.hpp"

namespace lockstep {
namespace {

constexpr const char* kOwn = "/proc/thread-self/ns/net";

// The network namespace of the calling thread.
std::string here() { return std::filesystem::read_symlink(kOwn).string(); }

TEST(InNamespace, NeedsNoRightsForThisOne) {
  std::string inside;
  ASSERT_TRUE(in_namespace("", [&] { inside = here(); }));
  EXPECT_EQ(inside, here());
}

TEST(InNamespace, RefusesAPathThatIsNotANamespace) {
  bool ran = false;
  const auto missing = in_namespace("/run/netns/lockstep-none", [&] { ran = true; });
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::transient) << "it may come back";
  EXPECT_FALSE(in_namespace("/etc/passwd", [&] { ran = true; }));
  EXPECT_FALSE(ran);
}

TEST(InNamespace, ReturnsFromEveryOtherNamespace) {
  LOCKSTEP_NEEDS_ROOT("makes network namespaces");
  const std::string before = here();
  std::string thrown_away;
  ASSERT_TRUE(in_throwaway_namespace([&] { thrown_away = here(); }));
  EXPECT_NE(thrown_away, before);
  EXPECT_EQ(here(), before);

  Descriptor kept;
  std::string made;
  ASSERT_TRUE(inside_new_namespace("one", [&]() -> Result<Done> {
    made = here();
    kept = Descriptor(::open(kOwn, O_RDONLY | O_CLOEXEC));
    return Done{};
  }));
  EXPECT_EQ(here(), before);
  std::string again;
  ASSERT_TRUE(inside_namespace(kept.number(), [&]() -> Result<Done> {
    again = here();
    return Done{};
  }));
  EXPECT_EQ(again, made);
  EXPECT_EQ(here(), before);

  const auto failed = inside_namespace(kept.number(), []() -> Result<Done> {
    return Error{ErrorKind::conflict, "the body's"};
  });
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().what, "the body's");
  EXPECT_EQ(here(), before);
  const Descriptor file(::open("/etc/passwd", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(inside_namespace(file.number(), []() -> Result<Done> { return Done{}; }).error().what,
            "enter a network namespace: Invalid argument");
}

}  // namespace
}  // namespace lockstep
