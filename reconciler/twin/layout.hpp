// TwinLayout: the devices of a twin and the cables between their ports, as plain data.
//
// Promises: a layout that passes validate() can be built: names fit the kernel and the file system, no port
// is cabled twice, and no two names collide. Refuses everything else, with the name at fault. Two layouts are
// the same twin exactly if their record texts are equal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "specs/model/result.hpp"

namespace lockstep {

enum class TwinRole : std::uint8_t { host, device_switch };

struct TwinDevice {
  std::string name;
  TwinRole role = TwinRole::host;
  bool routing = false;  // runs FRR (zebra, bgpd, bfdd)
  // A SONiC switch's type, as its DEVICE_METADATA says it ("LeafRouter", "SpineRouter"): it has a Redis and a
  // stand-in for SONiC's daemons (sonic_device.hpp). Empty: it is none.
  std::string sonic_type{};
};

struct TwinCable {
  std::string device_a;
  std::string port_a;
  std::string device_b;
  std::string port_b;
  // Segmentation offload (TSO, GSO, GRO) at both ends. On, TCP crosses veth as 64 kB super-packets that pass
  // its MTU check whatever the MTU is (measured: 0.92 Gb/s through a 1500/9000 mismatch); off, an MTU fault
  // is a black hole as on hardware, but every packet is processed separately.
  bool segmentation_offload = true;
};

struct TwinLayout {
  std::string cluster;  // short stable id, see twin_cluster_id()
  std::vector<TwinDevice> devices;
  std::vector<TwinCable> cables;
};

// A cluster id that is stable for a folder and differs between folders: up to 8 letters and digits of the
// cluster's name and 6 hex digits derived from both ("railpod3fa91c").
std::string twin_cluster_id(std::string_view cluster_name, std::string_view folder);

// Only letters, digits and '_', at most 24: without '-', "ls-<cluster>-<device>" is unambiguous.
Result<Done> validate_cluster_id(std::string_view cluster);
Result<Done> validate(const TwinLayout& layout);

// The kernel's name of a port: its own name if the kernel accepts it (at most 15 characters, no '/', ':' or
// space), else a shortened one with a hash; the full name is then set as altname.
std::string kernel_port_name(std::string_view port);

// Default rate of a twin's fastest link, bit/s. Chosen so that two cores can forward it.
inline constexpr std::uint64_t kTwinLinkRate = 1'000'000'000;

// The layout and everything else that distinguishes twins (lldp), as one line of JSON, and its parser.
// from_record refuses text that is not such a record.
struct TwinRecord {
  TwinLayout layout;
  bool lldp = true;
  bool agents = false;  // each device runs lockstep-agent, reached over a management network
  std::string frr_profile;
  // For display only (`lockstep twin list`): not a difference between two twins.
  std::string name{};    // the cluster's, as in its specs
  std::string folder{};  // of the specs that it was made from
  // Rate of its fastest link, bit/s: chosen by the reconciler, and not a difference between two twins.
  std::uint64_t link_rate = kTwinLinkRate;
};
std::string to_text(const TwinRecord& record);
Result<TwinRecord> from_text(std::string_view text);
// 16 hex digits over to_text.
std::string digest_of(const TwinRecord& record);

// The differences between a running twin and the requested one, as text, at most `limit` lines; empty: equal.
std::vector<std::string> differences(const TwinRecord& running, const TwinRecord& asked, std::size_t limit);

// The steps from one layout to another. Parts in neither list are not touched. A device whose role or routing
// differs is removed and created again, with its cables.
struct TwinChange {
  std::vector<TwinDevice> devices_gone;
  std::vector<TwinCable> cables_gone;
  std::vector<TwinDevice> devices_made;
  std::vector<TwinCable> cables_made;
};
// `stands`: the existing part of `has`; lost parts are removed and created again.
TwinChange change_between(const TwinLayout& has, const TwinLayout& stands, const TwinLayout& asked);

// "switch leaf0 (routing)", "cable gpu1:rail0 -- leaf0:swp1".
std::string piece_text(const TwinDevice& device);
std::string piece_text(const TwinCable& cable);

}  // namespace lockstep
