// The fields of /etc/lockstep/host.yaml, as they are written. For their meaning, see policy.hpp.
#pragma once

#include <vector>

#include "specs/language/device_set.hpp"
#include "specs/language/struct_types.hpp"

namespace lockstep {

enum class RuleWord : std::uint8_t { refuse, allow };
constexpr auto words(RuleWord) { return std::to_array<std::string_view>({"refuse", "allow"}); }

struct NameRules {
  std::vector<Said<std::string>> allow;
  std::vector<Said<std::string>> refuse;
};

struct PciRules {
  Said<RuleWord> acs;
};

struct WaiverRules {
  Said<RuleWord> approval;
  Said<RuleWord> deletion;
};

struct HostRules {
  Said<std::string> device;
  Said<std::string> cluster;
  std::vector<Said<DriverName>> drivers;
  Said<NameRules> sysctls;
  Said<NameRules> services;
  Said<NameRules> modules;
  Said<NameRules> device_parameters;
  Said<NameRules> interfaces;
  Said<NameRules> tables;
  std::vector<Said<IpPrefix>> addresses;
  std::vector<Said<AsnRange>> asns;
  Said<PciRules> pci;
  Said<WaiverRules> waivers;
};

struct HostPolicyDocument {
  Said<std::string> api_version;
  Said<std::string> kind;
  Said<HostRules> spec;
};

template <>
const Type& struct_type<NameRules>();
template <>
const Type& struct_type<PciRules>();
template <>
const Type& struct_type<WaiverRules>();
template <>
const Type& struct_type<HostRules>();
template <>
const Type& struct_type<HostPolicyDocument>();

}  // namespace lockstep
