#include "reconciler/service/service_record.hpp"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

ServiceRecord sample() {
  ServiceRecord out;
  out.cordoned["gpu1"] = {.who = "operator ann", .reason = "optics", .at = {}};
  out.begun = RevisionId{"3f2a", "sha256:aa"};
  out.made_by["3f2a"] = {.author = "Ada", .subject = "MTU", .made = "2026-11-17T00:00:00Z"};
  return out;
}

TEST(ServiceRecord, IsTheSameAfterwards) {
  const nlohmann::json written = sample().to_json();
  const Result<ServiceRecord> read = ServiceRecord::from_json(written);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->to_json(), written);
  EXPECT_EQ(read->made_by.at("3f2a").author, "Ada");
  EXPECT_EQ(read->made_by.at("3f2a").subject, "MTU");
}

TEST(ServiceRecord, OfAnOlderVersionIsReadWithoutWhatThatDidNotKnow) {
  nlohmann::json written = sample().to_json();
  written.erase("madeBy");
  written.erase("measured");
  const Result<ServiceRecord> read = ServiceRecord::from_json(written);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_TRUE(read->made_by.empty());
  EXPECT_EQ(read->cordoned.size(), 1U);
}

TEST(ServiceRecord, ADamagedAuthorNamesTheField) {
  for (const char* const field : {"author", "subject", "made"}) {
    nlohmann::json written = sample().to_json();
    written["madeBy"]["3f2a"][field] = 3;
    const Result<ServiceRecord> read = ServiceRecord::from_json(written);
    ASSERT_FALSE(read) << field;
    EXPECT_NE(read.error().text().find(field), std::string::npos) << read.error().text();
  }
  nlohmann::json written = sample().to_json();
  written["madeBy"] = "Ada";
  EXPECT_FALSE(ServiceRecord::from_json(written));
}

}  // namespace
}  // namespace lockstep
