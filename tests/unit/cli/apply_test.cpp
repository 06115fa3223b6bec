// `lockstep apply PLAN.json`: what may be asked for beside a plan file.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "reconciler/session/plan_file.hpp"
#include "said.hpp"

namespace lockstep {
namespace {

TEST(ApplyOfAPlanFile, IsNotNarrowedOrAimedAnew) {
  std::string folder = (std::filesystem::temp_directory_path() / "lockstep-plan-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::string file = folder + "/plan.json";
  PlanAim aim;
  aim.source.specs = {folder};
  aim.source.twin = true;
  ASSERT_TRUE(write_plan_file(file, aim, *make_plan({})));
  const Answer narrowed = say({"apply", "--yes", "--only", "gpu2", file});
  EXPECT_EQ(narrowed.code, 1);
  EXPECT_NE(narrowed.err.find("is carried out whole: `lockstep plan --only gpu2 --out FILE` narrows a plan"),
            std::string::npos)
      << narrowed.err;
  EXPECT_NE(say({"apply", "--yes", "--renumber", file}).err.find("--renumber is for `lockstep plan`"),
            std::string::npos);
  aim.source.twin = false;
  ASSERT_TRUE(write_plan_file(file, aim, *make_plan({})));
  EXPECT_NE(say({"apply", "--yes", "--twin", file}).err.find("was not planned for a twin"),
            std::string::npos);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace lockstep
