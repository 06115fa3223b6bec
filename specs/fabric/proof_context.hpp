// What the proofs share: the objects, the platforms that the specs name, and a common way to report. Part of
// prove().
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "specs/fabric/buffer_use.hpp"
#include "specs/fabric/topology.hpp"
#include "specs/platforms/platform.hpp"

namespace lockstep {

// Ports with the same DeviceSet entry, fabric and platform.
struct PortClass {
  std::uint32_t set = 0;
  std::uint32_t entry = kNone;
  FabricIndex fabric = 0;
  std::string_view platform;
  PortIndex example = 0;
  auto key() const { return std::tuple(set, entry, fabric, platform); }
};

struct ProofContext {
  ProofContext(const Catalog& all, const Topology& graph, Diagnostics& diagnostics);

  const Catalog& catalog;
  const Topology& topology;
  Diagnostics& out;
  std::vector<PortClass> ports;              // cabled ones
  std::vector<const RoceProfile*> profiles;  // by FabricIndex; nullptr: none
  std::vector<std::uint32_t> lossless;       // by FabricIndex: lossless classes

  // nullptr: the specs name none, or one that does not exist (reported by another proof).
  const Platform* platform(std::string_view name) const;
  const Platform* platform_of(PortIndex port) const { return platform(topology.ports[port].platform); }
  DeviceIndex other_end(PortIndex port) const;
  // Where a port's platform is written, or should be.
  Position platform_at(const PortClass& one) const;
  // Where the ports of a class are written.
  Position ports_at(const PortClass& one) const;
  // Where a device's platform is written, or should be.
  Position platform_at(DeviceIndex device) const;

  void error(std::string_view code, Position at, std::string message, std::string hint,
             std::vector<Related> related = {}) const;
  void warning(std::string_view code, Position at, std::string message, std::string hint,
               std::vector<Related> related = {}) const;

 private:
  mutable std::map<std::string_view, const Platform*> known_;
};

// The line of a field, or of the enclosing object if the field was not written.
template <class T>
Position place(const Said<T>& field, Position otherwise) {
  return field.said && field.at.file != 0 ? field.at : otherwise;
}

inline Position place(Position at, Position otherwise) { return at.file != 0 ? at : otherwise; }

// By tier, whether its switches share one AS number.
std::array<bool, 4> tiers_of_one_asn(const Fabric& fabric);
// By device, the AS number that it may share with others, from its tier or an override; 0: it has its own.
std::vector<std::uint32_t> shared_asns(const ProofContext& context, FabricIndex index);

// Whether a HostProfile that selects the host sets that parameter of its NIC's firmware to a true value.
bool sets_firmware(const ProofContext& context, DeviceIndex host, std::string_view port,
                   std::string_view parameter);

void prove_profiles(const ProofContext& context);     // LS104, LS114, LS115, LS116, LS118, LS125
void prove_link_ends(const ProofContext& context);    // LS101, LS124
void prove_buffers(const ProofContext& context);      // LS102, LS103, LS117, LS121
void prove_platforms(const ProofContext& context);    // LS110, LS112, LS113, LS120
void prove_port_counts(const ProofContext& context);  // LS112
void prove_ecn(const ProofContext& context);          // LS130
void prove_paths(const ProofContext& context);        // LS105, LS106, LS126
void prove_circles(const ProofContext& context);      // LS108
void prove_spreading(const ProofContext& context);    // LS109, LS127
void prove_hosts(const ProofContext& context);        // LS128, LS129
void prove_as_paths(const ProofContext& context);     // LS122
void prove_goals(const ProofContext& context);        // LS111, LS119, LS123

}  // namespace lockstep
