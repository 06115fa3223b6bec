#include "reconciler/api/routes.hpp"

#include <algorithm>

#include "specs/language/words.hpp"

namespace lockstep::api {
namespace {

constexpr std::array<std::string_view, 2> kVersionSegments{"api", "v1alpha1"};

// NAME:WORD; the name may have a colon itself, as a folder's revision does ("sha256:...").
Route object_route(Kind kind, const std::string& segment) {
  const std::size_t colon = segment.rfind(':');
  if (colon != segment.npos && colon > 0 && kind == Kind::cluster &&
      std::string_view(segment).substr(colon + 1) == kPlanWord)
    return {.what = What::proposal, .kind = kind, .name = segment.substr(0, colon)};
  if (colon != segment.npos && colon > 0)
    if (const ActionRow* const action = find_action(kind, std::string_view(segment).substr(colon + 1));
        action != nullptr)
      return {.what = What::action, .kind = kind, .name = segment.substr(0, colon), .action = action};
  return {.what = What::object, .kind = kind, .name = segment};
}

}  // namespace

Route route_of(const RequestTarget& target) {
  const auto& path = target.segments;
  if (path.size() == 1)
    for (const PlainRoute& one : kPlainRoutes)
      if (one.path.substr(1) == path[0]) return {.what = one.what};
  if (path.size() == 2 && path[0] == "webhooks") {
    const auto forge = spelled<Forge>(path[1]);
    return forge ? Route{.what = What::webhook, .forge = *forge} : Route{};
  }
  if (path.size() < 3 || path.size() > 4 ||
      !std::equal(kVersionSegments.begin(), kVersionSegments.end(), path.begin()))
    return {};
  const KindRow* const kind = find_kind(path[2]);
  if (kind == nullptr || (path.size() == 4 && path[3].empty())) return {};
  if (path.size() == 4) return object_route(kind->kind, path[3]);
  return {.what = What::list, .kind = kind->kind};
}

bool Route::allows(std::string_view method) const {
  if (method == "OPTIONS") return true;
  return is_posted() ? method == "POST" : method == "GET" || method == "HEAD";
}

std::string_view Route::allowed() const { return is_posted() ? "POST, OPTIONS" : "GET, HEAD, OPTIONS"; }

}  // namespace lockstep::api
