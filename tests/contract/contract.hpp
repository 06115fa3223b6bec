// The fixture of the contract suite: one subject, made fresh for each test, and what every test asks of it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/contract/samples.hpp"
#include "tests/contract/subjects.hpp"

namespace lockstep::contract {

Call soon();
Path path(std::string_view text);
std::string pattern_of(Path entry);
const Sample* sample_of(RowId row);
// All rows, and every sample by name.
Scope whole();
bool contains(const std::vector<RowId>& rows, RowId row);
// The configuration of a tree, without what follows from a write of `but`.
Tree config_of(const Tree& tree, Path but = Path{});

class Contract : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override;
  static void TearDownTestSuite() { end_subjects(); }

  Driver& driver() { return subject_->driver(); }
  Traits traits();
  // All of it, and every unread row is a failure.
  Observation observed();
  std::string config() { return config_of(observed().have).to_string(); }
  // Applies and looks at the answer: one outcome for each change, in order.
  Receipt applied(const ChangeSet& changes, Guard guard = {});
  // Every outcome of it is a success.
  void done(const ChangeSet& changes, Guard guard = {});
  // What must be there first, as far as this driver writes it: one change set against what is there.
  void prepare(const Sample& sample);
  void expect_config(const std::string& config, const char* when);
  // A row that can be written here without any other; never null.
  const Sample* simple_sample();

  std::unique_ptr<Subject> subject_;
  int tickets_ = 0;
};

}  // namespace lockstep::contract
