// What every kind has: metadata, how the object is managed (mode, suspend, onDelete, priority, overrides,
// raw), and, written by the reconciler only, conditions. Every field is a Said with its position.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "specs/language/quantity.hpp"
#include "specs/language/said.hpp"

namespace lockstep {

// A value of any shape, as written: the values of `raw:` and `overrides:`. Only unquoted scalars are null,
// boolean, integer or number; `text` holds the scalar's text for every scalar.
struct Literal {
  enum class Shape : std::uint8_t { null, boolean, integer, number, text, list, map };
  Shape shape = Shape::null;
  bool boolean = false;
  std::int64_t integer = 0;
  bool plain = false;  // a scalar without quotes
  std::string text;
  std::vector<Literal> items;  // of a list
  MapEntries<Literal> fields;  // of a map, in the order written
  Position at;
};

enum class Mode : std::uint8_t { observe, converge };
constexpr auto words(Mode) { return std::to_array<std::string_view>({"observe", "converge"}); }

enum class OnDelete : std::uint8_t { leave, restore };
constexpr auto words(OnDelete) { return std::to_array<std::string_view>({"leave", "restore"}); }

struct Metadata {
  Said<std::string> name;
  MapEntries<std::string> labels;
  MapEntries<std::string> annotations;
};

// Per-device exceptions: entries (as path text, `interface[rail0]/mtu`) that differ on some devices until a
// date.
struct Override {
  Said<std::string> names;  // devices, a hostlist
  MapEntries<Literal> set;
  Said<std::string> reason;
  Said<Date> until;
};

enum class DriverName : std::uint8_t { linux_kernel, frr, sonic, eos, nvue, redfish, sim };
constexpr auto words(DriverName) {
  return std::to_array<std::string_view>({"linux", "frr", "sonic", "eos", "nvue", "redfish", "sim"});
}

// Configuration that the language does not cover yet, in a driver's own syntax.
struct Raw {
  Said<DriverName> driver;
  Said<std::string> names;  // devices, a hostlist; unset: every device that the object covers
  MapEntries<Literal> set;
};

struct Object {
  Position at;  // of the document's first key
  Metadata metadata;
  Said<Mode> mode;  // unset: the Cluster's, else observe
  Said<bool> suspend;
  Said<OnDelete> on_delete;
  Said<std::int32_t> priority;
  std::vector<Override> overrides;
  std::vector<Raw> raw;
};

// The devices that an object applies to. An empty selector matches all.
struct Selector {
  MapEntries<std::string> match_labels;  // each must equal the label of the device's DeviceSet
  Said<std::string> names;               // devices, a hostlist
  Position at;
};

enum class SecretStore : std::uint8_t { systemd, file, env };
constexpr auto words(SecretStore) { return std::to_array<std::string_view>({"systemd", "file", "env"}); }

// Where a secret is kept ("systemd:sw-admin"); never the secret itself.
struct SecretName {
  SecretStore store = SecretStore::systemd;
  std::string name;
  auto operator<=>(const SecretName&) const = default;
};

struct Credentials {
  Said<SecretName> secret;
  Said<std::string> user;
};

}  // namespace lockstep
