// The kinds of objects that a service's API has, and what people call them.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace lockstep::client {

struct KindRow {
  std::string_view name;       // "Device"
  std::string_view plural;     // "devices", as in paths
  std::string_view singular;   // "device"
  std::string_view shortened;  // "dev"; may be empty
};
std::span<const KindRow> object_kinds();
// By any of its names, in any case; null: there is none.
const KindRow* find_kind(std::string_view word);
const KindRow& cluster_kind();
const KindRow& revision_kind();
const KindRow& device_kind();
const KindRow& change_kind();
const KindRow& event_kind();
// "there is no kind 'x'; there are clusters, ...".
std::string unknown_kind(std::string_view word);

}  // namespace lockstep::client
