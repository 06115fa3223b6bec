#include "specs/language/idle_fields.hpp"

#include <algorithm>

namespace lockstep {
namespace {

constexpr IdleField idle[] = {
    {"a BenchmarkRun", ""},
    {"a Change", ""},
    {"a Device", ""},
    {"a Finding", ""},
    {"a GitSource", ""},

    {"a Cluster", "onDelete"},
    {"a Cluster", "priority"},
    {"a Cluster", "scheduler"},
    {"a DeviceSet", "credentials"},
    {"a RolloutPolicy", "mode"},
    {"a RolloutPolicy", "onDelete"},
    {"a RolloutPolicy", "suspend"},
    {"a ValidationSuite", "mode"},
    {"a ValidationSuite", "onDelete"},
    {"a ValidationSuite", "priority"},
    {"a ValidationSuite", "suspend"},
    {"an interface", "pci"},
    {"connect", "https"},
    {"cost", "tokensPerGpuSecond"},
    {"management", "path"},
};

}  // namespace

std::span<const IdleField> idle_fields() { return idle; }

bool is_idle(std::string_view object, std::string_view field) {
  return std::any_of(std::begin(idle), std::end(idle),
                     [&](const IdleField& one) { return one.object == object && one.field == field; });
}

}  // namespace lockstep
