#include "reconciler/report/differences_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "reconciler/report/drift_report.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

std::string last_key(const DriftEntry& item) { return std::string(item.path.key(item.path.key_count() - 1)); }

// What differs, without the port that it differs at.
std::string likeness(const DriftEntry& item) {
  return fmt::format("{} {} {}", schema_row(item.path.row()).pattern, item.have ? "" : "missing",
                     item.want ? "" : "extra");
}

}  // namespace

std::string difference_text(const DriftEntry& item) {
  std::string out = item.path.text();
  if (!item.have)
    out += " is missing" + (schema_row(item.path.row()).type == EntryType::present
                                ? std::string()
                                : ", desired " + want_text(item));
  else if (!item.want)
    out += " is " + have_text(item) + ", desired absent";
  else
    out += " is " + have_text(item) + ", desired " + want_text(item);
  return out + (item.reason.empty() ? "" : "; " + item.reason);
}

std::string ReplacedMember::collection() const {
  const std::string text = desired->path.text();
  return text.substr(0, text.size() - last_key(*desired).size() - std::string_view("[]").size());
}
std::string ReplacedMember::actual_key() const { return last_key(*actual); }
std::string ReplacedMember::desired_key() const { return last_key(*desired); }

std::vector<ReplacedMember> take_replaced_members(std::vector<const DriftEntry*>& items) {
  struct Members {
    std::vector<const DriftEntry*> missing;
    std::vector<const DriftEntry*> extra;
  };
  std::map<std::string, Members> collections;
  for (const DriftEntry* const item : items) {
    const Row& row = schema_row(item->path.row());
    if (!row.collection || row.type != EntryType::present || item->path.key_count() < 2 ||
        !item->reason.empty())
      continue;
    Members& of = collections[item->device + "\t" + ReplacedMember{item, item}.collection()];
    (item->have ? of.extra : of.missing).push_back(item);
  }
  std::vector<ReplacedMember> out;
  for (const auto& [collection, members] : collections)
    if (members.missing.size() == 1 && members.extra.size() == 1)
      out.push_back({members.extra[0], members.missing[0]});
  std::erase_if(items, [&out](const DriftEntry* item) {
    return std::ranges::any_of(
        out, [item](const ReplacedMember& one) { return item == one.actual || item == one.desired; });
  });
  return out;
}

std::string differences_text(const std::vector<const DriftEntry*>& items) {
  constexpr std::size_t kMost = 3;
  std::vector<const DriftEntry*> rest = items;
  std::vector<std::string> texts;
  for (const ReplacedMember& one : take_replaced_members(rest))
    texts.push_back(
        fmt::format("{} is {}, desired {}", one.collection(), one.actual_key(), one.desired_key()));
  std::vector<std::vector<const DriftEntry*>> groups;
  std::map<std::string, std::size_t> by_likeness;
  // What is there and wrong says more than what is missing.
  std::ranges::stable_partition(rest, [](const DriftEntry* one) { return bool(one->have); });
  for (const DriftEntry* const item : rest) {
    const auto [at, is_new] = by_likeness.try_emplace(likeness(*item), groups.size());
    if (is_new) groups.emplace_back();
    groups[at->second].push_back(item);
  }
  for (const auto& group : groups)
    texts.push_back(difference_text(*group.front()) +
                    (group.size() == 1 ? "" : fmt::format(" (and {} alike)", group.size() - 1)));
  const std::size_t more = texts.size() > kMost ? texts.size() - kMost : 0;
  texts.resize(texts.size() - more);
  return fmt::format("{}", fmt::join(texts, "; ")) + (more == 0 ? "" : fmt::format("; and {} more", more));
}

}  // namespace lockstep
