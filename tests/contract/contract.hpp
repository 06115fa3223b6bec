// The fixture of the contract suite: a new subject for each test, and the operations that all tests use.
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
// The configuration of a tree, without the entries that depend on a write of `but`.
Tree config_of(const Tree& tree, Path but = Path{});

class Contract : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override;
  static void TearDownTestSuite() { end_subjects(); }

  Driver& driver() { return subject_->driver(); }
  Traits traits();
  // Observes all rows; an unread row is a test failure.
  Observation observed();
  std::string config() { return config_of(observed().have).to_string(); }
  // The driver's apply. Where every apply is armed, one that is not gets its own undo, and is kept.
  Result<Receipt> apply(const ChangeSet& changes, Guard guard, const Call& call);
  // Keeps what an apply with an error may have left armed.
  void settle_rest();
  // Applies and checks the answer: one outcome for each change, in order.
  Receipt applied(const ChangeSet& changes, Guard guard = {});
  // Applies; every outcome must be a success.
  void done(const ChangeSet& changes, Guard guard = {});
  // Creates what the sample needs, as far as this driver writes it: one change set against the actual state.
  void prepare(const Sample& sample);
  void expect_config(const std::string& config, const char* when);
  // A row that can be written without any other; never null.
  const Sample* simple_sample();

  std::unique_ptr<Subject> subject_;

 private:
  void keep_unsettled();
  int tickets_ = 0;
  std::vector<std::string> unsettled_;  // transactions of apply()
};

}  // namespace lockstep::contract
