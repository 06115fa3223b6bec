// Routes: which request means what, from the tables of kinds.hpp.
//
// Promises: pure. What is there but not with this method names the methods that it has.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "reconciler/api/kinds.hpp"
#include "reconciler/api/request_target.hpp"
#include "reconciler/api/role.hpp"
#include "reconciler/api/webhooks.hpp"

namespace lockstep::api {

inline constexpr std::string_view kVersionPath = "/api/v1alpha1";

// A proposal is specs that are to be planned: POST .../clusters/NAME:plan.
enum class What : std::uint8_t {
  nothing,
  list,
  object,
  action,
  proposal,
  webhook,
  healthz,
  readyz,
  openapi,
  metrics
};
inline constexpr std::string_view kPlanWord = "plan";
// A plan shows what is on devices, and changes nothing.
inline constexpr Role kPlanRole = Role::viewer;

// Paths that are neither objects nor actions.
struct PlainRoute {
  What what{};
  std::string_view path;
  std::string_view does;     // one sentence
  bool for_callers = false;  // those who may view
};
inline constexpr std::array kPlainRoutes{
    PlainRoute{What::healthz, "/healthz", "Whether the API answers."},
    PlainRoute{What::readyz, "/readyz", "Whether the service can do its work, by one line for each check."},
    PlainRoute{What::openapi, "/openapi.json", "This document."},
    PlainRoute{What::metrics, "/metrics", "Metrics, as Prometheus reads them.", true}};

struct Route {
  What what = What::nothing;
  Kind kind{};
  std::string name{};
  const ActionRow* action = nullptr;  // of What::action
  Forge forge{};                      // of What::webhook
  bool is_posted() const { return what == What::action || what == What::proposal || what == What::webhook; }
  bool allows(std::string_view method) const;
  std::string_view allowed() const;  // "GET, HEAD, OPTIONS"
};
Route route_of(const RequestTarget& target);

}  // namespace lockstep::api
