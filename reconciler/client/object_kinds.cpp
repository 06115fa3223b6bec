#include "reconciler/client/object_kinds.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "specs/language/kind_rows.hpp"
#include "specs/model/near_miss.hpp"
#include "specs/model/printable.hpp"

namespace lockstep::client {
namespace {

constexpr std::array<KindRow, 7> kOwn{{{"Cluster", "clusters", "cluster", "cl"},
                                       {"Revision", "revisions", "revision", "rev"},
                                       {"Device", "devices", "device", "dev"},
                                       {"Change", "changes", "change", "chg"},
                                       {"BenchmarkRun", "benchmarkruns", "benchmarkrun", "run"},
                                       {"Finding", "findings", "finding", "find"},
                                       {"Event", "events", "event", "ev"}}};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

// Those of the service itself, and then those of the specs.
std::vector<KindRow> all_kinds() {
  static const std::vector<std::string> kSingular = [] {
    std::vector<std::string> out;
    for (const lockstep::KindRow& one : kind_rows()) out.push_back(lower(one.name));
    return out;
  }();
  std::vector<KindRow> out(kOwn.begin(), kOwn.end());
  for (std::size_t i = 0; i < kSingular.size(); ++i) {
    const lockstep::KindRow& one = kind_rows()[i];
    if (!one.written_by_reconciler && std::ranges::find(kOwn, one.name, &KindRow::name) == kOwn.end())
      out.push_back({one.name, one.plural, kSingular[i], ""});
  }
  return out;
}

}  // namespace

std::span<const KindRow> object_kinds() {
  static const std::vector<KindRow> kAll = all_kinds();
  return kAll;
}

const KindRow* find_kind(std::string_view word) {
  const std::string said = lower(word);
  if (said.empty()) return nullptr;
  const auto found = std::ranges::find_if(object_kinds(), [&](const KindRow& one) {
    return said == one.plural || said == one.singular || said == one.shortened;
  });
  return found == object_kinds().end() ? nullptr : &*found;
}

const KindRow& cluster_kind() { return object_kinds()[0]; }
const KindRow& revision_kind() { return object_kinds()[1]; }
const KindRow& device_kind() { return object_kinds()[2]; }
const KindRow& change_kind() { return object_kinds()[3]; }
const KindRow& event_kind() { return object_kinds()[6]; }

std::string unknown_kind(std::string_view word) {
  std::vector<std::string_view> all;
  for (const KindRow& one : object_kinds()) all.push_back(one.plural);
  std::string out = "there is no kind '" + printable(word) + "'";
  if (const std::string_view near = nearest(lower(word), all); !near.empty())
    out += "; did you mean " + std::string(near) + "?";
  out += "; there are";
  for (std::size_t i = 0; i < all.size(); ++i) out += (i == 0 ? " " : ", ") + std::string(all[i]);
  return out;
}

}  // namespace lockstep::client
