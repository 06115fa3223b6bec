// TwinLayout: what a twin is made of, as plain data: devices, and cables between their ports.
//
// Promises: a layout that passes validate() can be built: names fit the kernel and the file system, no port
// is cabled twice, and no two names become one. Refuses, naming the thing at fault, everything else. Two
// layouts are the same twin exactly if their record texts are equal.
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
};

struct TwinCable {
  std::string device_a;
  std::string port_a;
  std::string device_b;
  std::string port_b;
  // Segmentation offload (TSO, GSO, GRO) at both ends. On, TCP crosses veth as 64 kB super-packets that pass
  // its MTU check whatever the MTU is (measured: 0.92 Gb/s through a 1500/9000 mismatch); off, an MTU fault
  // is a black hole as it is on hardware, at the cost of a packet's work for every packet.
  bool segmentation_offload = true;
};

struct TwinLayout {
  std::string cluster;  // short stable id, see twin_cluster_id()
  std::vector<TwinDevice> devices;
  std::vector<TwinCable> cables;
};

// A cluster id that is the same for the same folder and differs between folders: up to 8 letters and digits
// of the cluster's name and 6 hex digits of both ("railpod3fa91c").
std::string twin_cluster_id(std::string_view cluster_name, std::string_view folder);

// Letters, digits and '_' only, at most 24: no '-', so that "ls-<cluster>-<device>" reads one way.
Result<Done> validate_cluster_id(std::string_view cluster);
Result<Done> validate(const TwinLayout& layout);

// The kernel's name of a port: its own name where the kernel takes that (at most 15 characters, no '/', ':'
// or space), else a shortened one with a hash; the full name is then set as altname.
std::string kernel_port_name(std::string_view port);

// Of the fastest link of a twin, bit/s, where nobody says another. A choice: two cores carry it.
inline constexpr std::uint64_t kTwinLinkRate = 1'000'000'000;

// The layout and what else makes two twins different (lldp), as one line of JSON; and back. from_record
// refuses text that is not such a record.
struct TwinRecord {
  TwinLayout layout;
  bool lldp = true;
  std::string frr_profile;
  // Of people's concern only (`lockstep twin list`): no difference between two twins.
  std::string name{};    // the cluster's, as its specs say
  std::string folder{};  // of the specs that it was made from
  // Of its fastest link, bit/s: the reconciler's to give, and no difference between two twins.
  std::uint64_t link_rate = kTwinLinkRate;
};
std::string to_text(const TwinRecord& record);
Result<TwinRecord> from_text(std::string_view text);
// 16 hex digits over to_text.
std::string digest_of(const TwinRecord& record);

// What differs between a twin that runs and one that is asked for, in words, at most `limit` lines; empty:
// equal.
std::vector<std::string> differences(const TwinRecord& running, const TwinRecord& asked, std::size_t limit);

// What makes of one layout another. What is in neither list stays, untouched. A device whose role or routing
// differs is gone and made anew, with its cables.
struct TwinChange {
  std::vector<TwinDevice> devices_gone;
  std::vector<TwinCable> cables_gone;
  std::vector<TwinDevice> devices_made;
  std::vector<TwinCable> cables_made;
};
// `stands`: what is there of `has`; what is lost is gone and made anew.
TwinChange change_between(const TwinLayout& has, const TwinLayout& stands, const TwinLayout& asked);

// "switch leaf0 (routing)", "cable gpu1:rail0 -- leaf0:swp1".
std::string piece_text(const TwinDevice& device);
std::string piece_text(const TwinCable& cable);

}  // namespace lockstep
