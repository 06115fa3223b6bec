#include "reconciler/client/object_kinds.hpp"

#include <algorithm>
#include <array>

#include "specs/model/near_miss.hpp"
#include "specs/model/printable.hpp"

namespace lockstep::client {
namespace {

constexpr std::array<KindRow, 6> kKinds{{{"Cluster", "clusters", "cluster", "cl"},
                                         {"Revision", "revisions", "revision", "rev"},
                                         {"Device", "devices", "device", "dev"},
                                         {"Change", "changes", "change", "chg"},
                                         {"BenchmarkRun", "benchmarkruns", "benchmarkrun", "run"},
                                         {"Event", "events", "event", "ev"}}};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

}  // namespace

std::span<const KindRow> object_kinds() { return kKinds; }

const KindRow* find_kind(std::string_view word) {
  const std::string said = lower(word);
  const auto found = std::ranges::find_if(kKinds, [&](const KindRow& one) {
    return said == one.plural || said == one.singular || said == one.shortened;
  });
  return found == kKinds.end() ? nullptr : &*found;
}

const KindRow& cluster_kind() { return kKinds[0]; }
const KindRow& revision_kind() { return kKinds[1]; }
const KindRow& device_kind() { return kKinds[2]; }
const KindRow& event_kind() { return kKinds[5]; }

std::string unknown_kind(std::string_view word) {
  std::array<std::string_view, kKinds.size()> all;
  std::ranges::transform(kKinds, all.begin(), &KindRow::plural);
  std::string out = "there is no kind '" + printable(word) + "'";
  if (const std::string_view near = nearest(lower(word), all); !near.empty())
    out += "; did you mean " + std::string(near) + "?";
  out += "; there are";
  for (std::size_t i = 0; i < all.size(); ++i) out += (i == 0 ? " " : ", ") + std::string(all[i]);
  return out;
}

}  // namespace lockstep::client
