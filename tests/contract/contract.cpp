#include "tests/contract/contract.hpp"

#include <algorithm>

#include "specs/model/schema_rows.hpp"
#include "tests/needs.hpp"

namespace lockstep::contract {
namespace {

bool is_part_of(Path part, Path whole) {
  const std::string pattern = pattern_of(whole) + "/";
  if (!pattern_of(part).starts_with(pattern)) return false;
  for (std::size_t i = 0; i < whole.key_count(); ++i)
    if (part.key_id(i) != whole.key_id(i)) return false;
  return true;
}

// Whether `entry` may appear, disappear or change with `written`: its parts, and dependencies that the
// schema's table cannot express.
bool follows(Path entry, Path written) {
  if (entry == written || is_part_of(entry, written)) return true;
  const std::string by = pattern_of(written);
  const std::string what = pattern_of(entry);
  // rtnetlink(7): the kernel flushes the routes over a port that lost its address or was set down.
  const bool flushes = by == "interface[*]/address[*]" || by == "interface[*]/admin";
  if (what == "route[*]") return flushes;
  if (what == "route-mtu[*]") return flushes || by == "route[*]" || by == "rule[*]";
  // A DSCP is in one class: a class that gets it takes it from another; and the last class takes the rest.
  // The same holds for a priority, and on a hardware port a class exists by its priorities. If the kernel has
  // no trust table, trust follows the DSCPs.
  if (what == "interface[*]/class[*]/dscp") return by == what || by == "interface[*]/trust";
  if (what == "interface[*]/trust") return by == "interface[*]/class[*]/dscp";
  if (what == "interface[*]/class[*]/priority") return by == what || by == "interface[*]/class[*]";
  if (what.starts_with("interface[*]/class[*]") && by == "interface[*]/class[*]/priority") return true;
  // A marker consists of three entries, which form one commit unit in the schema.
  if (what.starts_with("interface[*]/class[*]/ecn-")) return by.starts_with("interface[*]/class[*]/ecn-");
  // 802.1Qaz: a strict class has no share, and the shares add up to 100 %.
  if (what == "interface[*]/class[*]/share") return by == what || by == "interface[*]/class[*]/strict";
  return false;
}

}  // namespace

Call soon() {
  return Call{.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10), .stop = {}};
}

Path path(std::string_view text) {
  const auto parsed = Path::parse(text);
  EXPECT_TRUE(parsed) << text;
  return parsed ? *parsed : Path{};
}

std::string pattern_of(Path entry) { return std::string(schema_row(entry.row()).pattern); }

const Sample* sample_of(RowId row) {
  static const std::vector<Sample> all = samples();
  for (const Sample& one : all)
    if (path(one.entry).row() == row) return &one;
  return nullptr;
}

bool contains(const std::vector<RowId>& rows, RowId row) {
  return std::find(rows.begin(), rows.end(), row) != rows.end();
}

Tree config_of(const Tree& tree, Path but) {
  TreeBuilder out;
  for (const Entry& entry : tree.entries())
    if (schema_row(entry.path.row()).facet == Facet::config && !(but.id() != 0 && follows(entry.path, but)))
      out.add(entry.path, entry.value);
  return out.build();
}

void Contract::SetUp() {
  if (const std::string why = impossible(GetParam()); !why.empty())
    LOCKSTEP_NOT_TESTED_BUT_ON_CI(GetParam() + ": " + why);
  subject_ = make_subject(GetParam());
}

Scope whole() {
  static const std::vector<Sample> all = samples();
  Scope out;
  for (const Sample& one : all) out.named.push_back(path(one.entry));
  return out;
}

Traits Contract::traits() {
  auto out = driver().traits(soon());
  EXPECT_TRUE(out) << (out ? "" : out.error().text());
  return out ? *std::move(out) : Traits{};
}

Observation Contract::observed() {
  auto out = driver().observe(whole(), "", soon());
  EXPECT_TRUE(out) << (out ? "" : out.error().text());
  if (!out) return {};
  for (const Unread& one : out->unread) ADD_FAILURE() << one.why.text();
  return *std::move(out);
}

Result<Receipt> Contract::apply(const ChangeSet& changes, Guard guard, const Call& call) {
  if (!subject_->arms_all) return driver().apply(changes, guard, call);
  settle_rest();
  const std::uint64_t epoch = subject_->epoch->leader().epoch;
  if (guard.epoch == 0) guard.epoch = epoch;
  if (guard.epoch > epoch && !subject_->epoch->take(guard.epoch)) ADD_FAILURE() << "no random bytes";
  if (guard.undo_after) return driver().apply(changes, guard, call);
  guard.transaction = "plain" + std::to_string(++tickets_);
  guard.undo_after = std::chrono::seconds(60);
  for (auto one = changes.rbegin(); one != changes.rend(); ++one)
    guard.undo.push_back({one->path, one->want, one->was, 0});
  Result<Receipt> out = driver().apply(changes, guard, call);
  unsettled_.push_back(guard.transaction);
  if (out) keep_unsettled();
  return out;
}

void Contract::settle_rest() {
  if (unsettled_.empty()) return;
  subject_->come_to_rest();
  keep_unsettled();
}

void Contract::keep_unsettled() {
  for (const std::string& one : unsettled_) {
    const auto kept = driver().settle(one, Settlement::keep, soon());
    EXPECT_TRUE(kept) << kept.error().text();
  }
  unsettled_.clear();
}

Receipt Contract::applied(const ChangeSet& changes, Guard guard) {
  guard.ticket = "t" + std::to_string(++tickets_);
  auto receipt = apply(changes, guard, soon());
  EXPECT_TRUE(receipt) << (receipt ? "" : receipt.error().text());
  if (!receipt) return {};
  EXPECT_EQ(receipt->ticket, guard.ticket);
  EXPECT_EQ(receipt->outcomes.size(), changes.size());
  for (std::size_t i = 0; i < std::min(changes.size(), receipt->outcomes.size()); ++i)
    EXPECT_EQ(receipt->outcomes[i].path, changes[i].path);
  return *std::move(receipt);
}

void Contract::done(const ChangeSet& changes, Guard guard) {
  for (const Receipt::Outcome& one : applied(changes, std::move(guard)).outcomes)
    EXPECT_FALSE(one.error) << one.path.text() << ": " << one.error->text();
}

void Contract::prepare(const Sample& sample) {
  const Traits known = traits();
  const Observation seen = observed();
  Intent intent;
  for (const auto& [entry, value] : sample.before)
    if (contains(known.writes, path(entry).row()) && incapable_of(seen.incapable, path(entry)) == nullptr)
      intent.want.set(path(entry), value);
  if (!intent.want.empty()) done(diff(intent, seen).changes);
}

void Contract::expect_config(const std::string& config, const char* when) {
  EXPECT_EQ(config_of(observed().have).to_string(), config) << when;
}

const Sample* Contract::simple_sample() {
  const Observation seen = observed();
  for (const RowId id : traits().writes) {
    const Sample* const sample = sample_of(id);
    if (sample != nullptr && sample->before.empty() && sample->together.empty() &&
        incapable_of(seen.incapable, path(sample->entry)) == nullptr)
      return sample;
  }
  throw std::runtime_error("no row can be written by itself");
}

}  // namespace lockstep::contract
