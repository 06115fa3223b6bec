// Role: what somebody may do through the API: viewer < operator < admin. A higher role may do all that a
// lower one may.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "specs/language/said.hpp"

namespace lockstep::api {

enum class Role : std::uint8_t { viewer, operator_, admin };
constexpr auto words(Role) { return std::to_array<std::string_view>({"viewer", "operator", "admin"}); }

// Somebody whose credential was accepted.
struct Caller {
  Role role = Role::viewer;
  std::string name{};        // of the credential: "ann"
  std::string credential{};  // "token", "certificate" or "user" (of this machine, over the UNIX socket)
  std::string from{};        // "192.0.2.7", or "this machine"
  // "operator ann", as SpokenBy::who has it.
  std::string who() const { return std::string(to_string(role)) + " " + name; }
  // Whose limits a request counts against.
  std::string key() const { return credential + ":" + name; }
};

}  // namespace lockstep::api
