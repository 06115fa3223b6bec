#include "reconciler/service/kept_revision.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/plain_folder.hpp"
#include "tests/unit/session/temporary_folder.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

std::string text_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(KeptRevision, IsTheSameFilesAfterwards) {
  TemporaryFolder folder;
  const std::string binary("a\0b\xff\n", 5);
  folder.write("from/pod/fabric.yaml", "kind: Fabric\n");
  folder.write("from/allocations.lock", binary);
  fs::create_directory_symlink("pod", folder.path() + "/from/same");
  const Revision was{.id = "3f2a",
                     .author = "Ada",
                     .subject = "cables",
                     .made = "2026-11-28T10:00:00Z",
                     .signer = "ada",
                     .folder = std::make_shared<PlainFolder>(folder.path() + "/from")};
  const std::string keeps = folder.path() + "/keeps";
  EXPECT_TRUE(kept_revisions(keeps)->empty()) << "nothing was kept";
  ASSERT_TRUE(keep_revisions({was}, keeps));
  fs::remove_all(folder.path() + "/from");
  const Result<std::vector<Revision>> kept = kept_revisions(keeps);
  ASSERT_TRUE(kept) << kept.error().text();
  ASSERT_EQ(kept->size(), 1U);
  const Revision& is = kept->front();
  EXPECT_EQ(is.id, "3f2a");
  EXPECT_EQ(is.author, "Ada");
  EXPECT_EQ(is.subject, "cables");
  EXPECT_EQ(is.signer, "ada");
  EXPECT_EQ(text_of(is.folder->path() + "/pod/fabric.yaml"), "kind: Fabric\n");
  EXPECT_EQ(text_of(is.folder->path() + "/allocations.lock"), binary);
  EXPECT_EQ(text_of(is.folder->path() + "/same/fabric.yaml"), "kind: Fabric\n");
}

TEST(KeptRevision, ADamagedFileIsAnErrorAndWritesNothingOutside) {
  TemporaryFolder folder;
  const std::string keeps = folder.path() + "/keeps";
  folder.write("from/a.yaml", "x");
  const Revision was{.id = "3f2a", .folder = std::make_shared<PlainFolder>(folder.path() + "/from")};
  ASSERT_TRUE(keep_revisions({was}, keeps));
  const std::string whole = text_of(keeps + "/kept.cbor");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    std::ofstream(keeps + "/kept.cbor", std::ios::trunc | std::ios::binary) << whole.substr(0, length);
    EXPECT_FALSE(kept_revisions(keeps)) << length << " of " << whole.size() << " bytes";
  }
  std::string outside = whole;
  outside.replace(outside.find("a.yaml"), 6, "../bad");
  std::ofstream(keeps + "/kept.cbor", std::ios::trunc | std::ios::binary) << outside;
  EXPECT_FALSE(kept_revisions(keeps));
  EXPECT_FALSE(fs::exists(keeps + "/bad"));
}

TEST(KeptRevision, AreReadInTheirOrderAndReplaceTheFormerOnes) {
  TemporaryFolder folder;
  const std::string keeps = folder.path() + "/keeps";
  const auto revision = [&](const std::string& id) {
    folder.write(id + "/a.yaml", id);
    return Revision{.id = id, .folder = std::make_shared<PlainFolder>(folder.path() + "/" + id)};
  };
  ASSERT_TRUE(keep_revisions({revision("old")}, keeps));
  ASSERT_TRUE(keep_revisions({revision("b"), revision("a")}, keeps));
  const Result<std::vector<Revision>> kept = kept_revisions(keeps);
  ASSERT_TRUE(kept) << kept.error().text();
  ASSERT_EQ(kept->size(), 2U);
  EXPECT_EQ((*kept)[0].id + (*kept)[1].id, "ba");
  EXPECT_EQ(text_of((*kept)[1].folder->path() + "/a.yaml"), "a");
}

TEST(KeptRevision, WhatAKilledServiceLeftIsRemovedAndNothingThatIsInUse) {
  TemporaryFolder folder;
  const std::string keeps = folder.path() + "/keeps";
  folder.write("from/a.yaml", "x");
  const Revision was{.id = "3f2a", .folder = std::make_shared<PlainFolder>(folder.path() + "/from")};
  ASSERT_TRUE(keep_revisions({was}, keeps));
  folder.write("keeps/fetched-AbCdEf/a.yaml", "of a process that was killed");
  const Result<std::vector<Revision>> first = kept_revisions(keeps);
  ASSERT_TRUE(first) << first.error().text();
  EXPECT_FALSE(fs::exists(keeps + "/fetched-AbCdEf"));
  const Result<std::vector<Revision>> second = kept_revisions(keeps);
  ASSERT_TRUE(second) << second.error().text();
  EXPECT_EQ(text_of(first->front().folder->path() + "/a.yaml"), "x");
}

}  // namespace
}  // namespace lockstep
