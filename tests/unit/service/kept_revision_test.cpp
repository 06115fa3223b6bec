#include "reconciler/service/kept_revision.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <utility>

#include "tests/unit/session/temporary_folder.hpp"

namespace lockstep {
namespace {

class Here final : public SourceFolder {
 public:
  explicit Here(std::string path) : path_(std::move(path)) {}
  const std::string& path() const override { return path_; }

 private:
  std::string path_;
};

class KeptRevisions : public testing::Test {
 protected:
  Revision revision(const std::string& id, const std::string& text) {
    folder.write(id + "/fabric.yaml", text);
    return {.id = id, .author = "Ada", .subject = "s" + id, .folder = std::make_shared<Here>(path(id))};
  }
  std::string path(const std::string& name) const { return folder.path() + "/" + name; }
  static std::string text_of(const Revision& one) {
    std::ifstream file(one.folder->path() + "/fabric.yaml");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  TemporaryFolder folder;
};

TEST_F(KeptRevisions, ThereAreNoneBeforeTheFirst) {
  const auto none = kept_revisions(path("keeps"));
  ASSERT_TRUE(none) << none.error().text();
  EXPECT_TRUE(none->empty());
}

TEST_F(KeptRevisions, AreReadInTheirOrderAndReplaceTheFormerOnes) {
  ASSERT_TRUE(keep_revisions({revision("a", "old")}, path("keeps")));
  ASSERT_TRUE(keep_revisions({revision("b", "one"), revision("c", "two")}, path("keeps")));
  const auto kept = kept_revisions(path("keeps"));
  ASSERT_TRUE(kept) << kept.error().text();
  ASSERT_EQ(kept->size(), 2U);
  EXPECT_EQ((*kept)[0].id, "b");
  EXPECT_EQ((*kept)[0].subject, "sb");
  EXPECT_EQ(text_of((*kept)[0]), "one");
  EXPECT_EQ((*kept)[1].id, "c");
  EXPECT_EQ(text_of((*kept)[1]), "two");
}

TEST_F(KeptRevisions, ADamagedFileIsAnError) {
  ASSERT_TRUE(keep_revisions({revision("a", "text")}, path("keeps")));
  folder.write("keeps/kept.cbor", "nonsense");
  EXPECT_FALSE(kept_revisions(path("keeps")));
}

}  // namespace
}  // namespace lockstep
