// The promises of drivers/driver.hpp for reads and writes: every row of every driver, from the schema table.
#include <algorithm>
#include <cstdio>
#include <set>

#include "drivers/frr/state.hpp"
#include "specs/model/schema_rows.hpp"
#include "tests/contract/contract.hpp"
#include "tests/needs.hpp"
#include "tests/unit/linux/no_descriptors.hpp"

namespace lockstep::contract {
namespace {

using Entries = std::vector<std::pair<std::string, Value>>;

// The disruption that is visible on the device between two observations.
Disruption disruption_seen(const Observation& before, const Observation& after) {
  if (before.boot_id != after.boot_id) return Disruption::reboot;
  for (const Entry& entry : before.have.entries()) {
    const std::string pattern = pattern_of(entry.path);
    const bool worked =
        (pattern == "interface[*]/carrier" && entry.value == Value::boolean(true)) ||
        (pattern == "bgp/neighbor[*]/session" && entry.value == Value::text(frr::kEstablished)) ||
        pattern == "fib[*]";
    if (worked && after.have.value(entry.path) != entry.value) return Disruption::traffic;
  }
  return Disruption::none;
}

class Rows : public Contract {
 protected:
  // One write (with those that are never split from it), and all promises for it.
  void write(Path entry, Value want, const Entries& together = {}) {
    SCOPED_TRACE(entry.text() + " = " + want.to_string());
    const Observation before = observed();
    ChangeSet changes{{entry, before.have.value(entry), want, 0}};
    if (want)
      for (const auto& [text, value] : together)
        changes.push_back({path(text), before.have.value(path(text)), value, 0});
    done(changes);
    const Observation after = observed();
    expect_wanted(entry, want, after);
    EXPECT_EQ(others(after.have, entry), others(before.have, entry));
    EXPECT_EQ(subject_->foreign(), foreign_);
    EXPECT_LE(disruption_seen(before, after), schema_row(entry.row()).disruption);
    done(changes);
    EXPECT_EQ(config_of(observed().have).to_string(), config_of(after.have).to_string())
        << "the second apply changed something";
  }

  // The configuration but for an entry and for what follows from others.
  std::string others(const Tree& tree, Path entry) const {
    TreeBuilder out;
    const Tree config = config_of(tree, entry);
    for (const Entry& one : config.entries())
      if (!subject_->follow.contains(pattern_of(one.path))) out.add(one.path, one.value);
    return out.build().to_string();
  }

  void expect_wanted(Path entry, Value want, const Observation& after) {
    Intent intent;
    if (want)
      intent.want.set(entry, want);
    else if (schema_row(entry.row()).collection && entry.key_count() > 0)
      intent.claims.push_back({entry.row(), keys_of(entry), 0});
    for (const Change& left : diff(intent, after).changes)
      ADD_FAILURE() << left.path.text() << ": want " << left.want.to_string() << ", have "
                    << left.was.to_string();
    if (!want && !subject_->keeps_a_default.contains(pattern_of(entry))) {
      EXPECT_EQ(after.have.value(entry), Value{});
    }
  }

  static std::vector<std::string> keys_of(Path entry) {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < entry.key_count(); ++i) out.emplace_back(entry.key(i));
    return out;
  }

  void remove(Path entry) {
    if (!subject_->never_unset.contains(pattern_of(entry))) return write(entry, Value{});
    SCOPED_TRACE(entry.text() + " can't be unset");
    const std::string before = config_of(observed().have).to_string();
    const Receipt receipt = applied({{entry, observed().have.value(entry), Value{}, 0}});
    ASSERT_EQ(receipt.outcomes.size(), 1U);
    EXPECT_TRUE(receipt.outcomes[0].error) << "believed done";
    EXPECT_EQ(config_of(observed().have).to_string(), before);
  }

  // The rollback as the engine makes it: from the actual to the previous state.
  void undo_to(const Tree& was, const char* what) {
    SCOPED_TRACE(what);
    const Tree now = config_of(observed().have);
    TreeBuilder either;
    for (const Tree* tree : {&now, &was})
      for (const Entry& entry : tree->entries()) either.add(entry.path, Value::present());
    ChangeSet reverse;
    const Tree all = either.build();
    for (const Entry& entry : all.entries())
      if (now.value(entry.path) != was.value(entry.path) &&
          !subject_->follow.contains(pattern_of(entry.path)))
        reverse.push_back({entry.path, now.value(entry.path), was.value(entry.path), 0});
    EXPECT_FALSE(reverse.empty()) << "nothing to undo";
    done(reverse);
    expect_config(was.to_string(), what);
  }

  std::pair<std::string, std::string> state() {
    return {config_of(observed().have).to_string(), subject_->foreign()};
  }

  // What of a row matters to a driver that passes it on.
  static std::pair<Value::Kind, bool> kind_of(const Sample& sample) {
    return {sample.first.kind(), sample.together.empty()};
  }

  // In an emulated machine (tests/vm) a look at what is foreign takes most of the time: one after each write,
  // and one after all that is undone.
  void walk(const Sample& sample) {
    const Path entry = path(sample.entry);
    prepare(sample);
    const Tree before = config_of(observed().have);
    write(entry, sample.first, sample.together);
    const Tree created = config_of(observed().have);
    if (sample.second) {
      write(entry, sample.second, sample.with_second);
      undo_to(created, "a change undone");
    }
    remove(entry);
    if (!subject_->never_unset.contains(pattern_of(entry))) undo_to(created, "a removal undone");
    if (before.to_string() != created.to_string()) undo_to(before, "the making undone");
    EXPECT_EQ(subject_->foreign(), foreign_);
  }

  std::string foreign_;  // what may not change
};

TEST_P(Rows, EveryWritableRowIsAddedChangedRemovedAndRolledBack) {
  const Traits known = traits();
  auto fresh = state();
  std::set<std::pair<Value::Kind, bool>> kinds;
  for (const RowId id : known.writes) {
    const std::string pattern(schema_row(id).pattern);
    SCOPED_TRACE(pattern);
    const Sample* const sample = sample_of(id);
    if (sample == nullptr) {
      ADD_FAILURE() << known.driver << " writes " << pattern
                    << ", and tests/contract/samples.hpp has no sample";
      continue;
    }
    if (subject_->one_row_of_a_kind && kinds.contains(kind_of(*sample))) continue;
    if (state() != fresh) {  // otherwise the previous row left nothing, and the device can be reused
      subject_.reset();
      subject_ = make_subject(GetParam());
      fresh = state();
    }
    const Observation here = observed();
    if (const Incapable* const cannot = incapable_of(here.incapable, path(sample->entry))) {
      std::printf("%s: %s not walked: %s\n", GetParam().c_str(), pattern.c_str(), cannot->reason.c_str());
      continue;
    }
    kinds.insert(kind_of(*sample));
    foreign_ = fresh.second;
    walk(*sample);
  }
}

TEST_P(Rows, UnsupportedRowsAreRefusedAndChangeNothing) {
  const Observation seen = observed();
  const std::string before = config_of(seen.have).to_string();
  for (const Incapable& one : seen.incapable) {
    EXPECT_FALSE(one.reason.empty());
    const Sample* const sample = sample_of(one.row);
    if (sample == nullptr || incapable_of(seen.incapable, path(sample->entry)) == nullptr) continue;
    SCOPED_TRACE(sample->entry);
    const Receipt receipt = applied({{path(sample->entry), {}, sample->first, 0}});
    ASSERT_EQ(receipt.outcomes.size(), 1U);
    ASSERT_TRUE(receipt.outcomes[0].error);
    EXPECT_EQ(to_string(receipt.outcomes[0].error->kind), to_string(ErrorKind::unsupported));
  }
  expect_config(before, "after refusals");
}

TEST_P(Rows, WrittenRowsAreReadToo) {
  const Traits known = traits();
  for (const RowId id : known.writes) {
    EXPECT_TRUE(contains(known.reads, id)) << schema_row(id).pattern;
    EXPECT_EQ(schema_row(id).facet, Facet::config) << schema_row(id).pattern;
  }
}

TEST_P(Rows, ObservingChangesNothingAndAKnownRevisionGetsAnEmptyAnswer) {
  const std::string foreign = subject_->foreign();
  const Observation first = observed();
  const Observation second = observed();
  EXPECT_EQ(config_of(first.have).to_string(), config_of(second.have).to_string());
  EXPECT_EQ(subject_->foreign(), foreign);
  if (second.revision.empty()) return;
  const auto again = driver().observe(whole(), second.revision, soon());
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->revision != second.revision || again->have.empty());
}

TEST_P(Rows, ObservesWithinTheScope) {
  for (const RowId id : traits().reads) {
    Scope scope = whole();
    scope.rows = {id};
    const auto seen = driver().observe(scope, "", soon());
    ASSERT_TRUE(seen) << seen.error().text();
    for (const Entry& entry : seen->have.entries()) EXPECT_EQ(entry.path.row(), id) << entry.path.text();
    for (const Incapable& lack : seen->incapable) EXPECT_EQ(lack.row, id) << lack.reason;
  }
}

TEST_P(Rows, APreviewHasACommandForEveryWrite) {
  if (subject_->attached.preview == nullptr) return;
  const Observation seen = observed();
  for (const RowId id : traits().writes) {
    const Sample* const sample = sample_of(id);
    if (sample == nullptr || incapable_of(seen.incapable, path(sample->entry)) != nullptr) continue;
    EXPECT_FALSE(subject_->attached.preview->native({{path(sample->entry), {}, sample->first, 0}}).empty())
        << sample->entry;
  }
}

// No descriptor is left for requests, and a device that can hang does so.
TEST_P(Rows, PreviewsAndRemediesComeFromTheLastObservation) {
  const std::vector<Change> broken = subject_->break_effects();
  observed();
  const std::vector<RowId> writes = traits().writes;
  const auto all = [&] {
    std::vector<std::string> out;
    for (const RowId id : writes)
      if (const Sample* const sample = sample_of(id);
          sample != nullptr && subject_->attached.preview != nullptr)
        for (std::string& line :
             subject_->attached.preview->native({{path(sample->entry), {}, sample->first, 0}}))
          out.push_back(std::move(line));
    for (const Change& effect : broken)
      if (const auto offer = subject_->attached.remedy->offer(effect)) out.push_back(offer->name);
    return out;
  };
  const std::vector<std::string> known = all();
  subject_->hang(true);
  {
    const NoDescriptors none;
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(all(), known);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5)) << "it waits for the device";
  }
  subject_->hang(false);
}

INSTANTIATE_TEST_SUITE_P(Drivers, Rows, ::testing::ValuesIn(subject_names()),
                         [](const auto& at) { return at.param; });

TEST(ContractTable, EveryRowHasADriverOrAReasonWhyNot) {
  std::vector<bool> claimed(kSchema.size());
  for (const std::string& name : subject_names()) {
    if (const std::string why = impossible(name); !why.empty())
      LOCKSTEP_NOT_TESTED_BUT_ON_CI(name + ": " + why);
    const auto subject = make_subject(name);
    if (!subject->is_real) continue;
    const auto traits = subject->driver().traits(soon());
    const auto seen = subject->driver().observe(whole(), "", soon());
    ASSERT_TRUE(traits) << traits.error().text();
    ASSERT_TRUE(seen) << seen.error().text();
    for (const RowId id : traits->reads) {
      const Sample* const sample = sample_of(id);
      if (sample == nullptr || incapable_of(seen->incapable, path(sample->entry)) == nullptr)
        claimed[id] = true;
    }
  }
  end_subjects();
  for (const RowId id : {row("interface[*]/peer"), row("lldp-agent")})
    claimed[id] = true;  // read by the linux driver when an lldpd is named
  for (std::size_t id = 0; id < kSchema.size(); ++id) {
    const std::string_view pattern = kSchema[id].pattern;
    bool listed = false;
    for (const NoDriverYet& one : kNoDriverYet) listed = listed || pattern.starts_with(one.pattern);
    EXPECT_TRUE(claimed[id] || listed) << pattern << " has no driver and no reason in samples.hpp";
  }
}

}  // namespace
}  // namespace lockstep::contract