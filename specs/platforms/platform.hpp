// Platform: what a switching chip or network card can do, and the constants that proofs and calculations
// need.
//
// Read from specs/platforms/*.yaml, which the build embeds: nothing is installed or opened at run time; and
// from files of the same form in a folder `platforms` beside the specs, which come first.
// Promises: every number and fact carries its source, and the other values where sources disagree; what no
// source says is absent (nullopt), never a default. Refuses: a file with an unknown key, or a number without
// a source (a bug of the tree: all_platforms() then says which file and line, and a unit test fails).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "specs/language/catalog.hpp"
#include "specs/language/fabric.hpp"
#include "specs/language/quantity.hpp"
#include "specs/model/result.hpp"

namespace lockstep {

struct OtherValue {
  double value = 0;
  std::string source;
};
// A number in the unit that its key names.
struct Figure {
  double value = 0;
  std::string source;
  std::vector<OtherValue> differs;
  std::uint64_t whole() const { return static_cast<std::uint64_t>(value); }
};
struct Fact {
  bool value = false;
  std::string source;
};
// How long a peer may take to obey a pause frame, in quanta of 512 bit times (IEEE 802.3 31B.3.7).
struct PauseQuanta {
  std::uint64_t speed = 0;  // bit/s
  std::uint32_t quanta = 0;
};
// A row of a vendor's own headroom table.
struct HeadroomRow {
  std::uint64_t speed = 0;  // bit/s
  std::uint32_t cable_metres = 0;
  std::uint64_t reserved_bytes = 0;    // for that class alone: SONiC's `size`
  std::uint64_t xon_bytes = 0;         // at most this much is left when XON is sent
  std::uint64_t xon_offset_bytes = 0;  // or this much less than when XOFF was
  std::uint64_t xoff_bytes = 0;        // still taken in once XOFF is sent
  std::string source;
};
struct NeedsReset {
  std::string what;
  std::string disruption;  // traffic | reset | reboot
  std::string source;
};
struct PlatformNote {
  std::string text;
  std::string source;
};

// What a platform's vendor ships or documents for a lossless class's ECN.
struct PublishedEcn {
  std::uint64_t kmin_bytes = 0;
  std::uint64_t kmax_bytes = 0;
  Ratio pmax;
  std::string source;
};
// A rule that code here follows, by name.
struct NamedRule {
  std::string name;
  std::string source;
};

enum class PlatformKind : std::uint8_t { switching, nic, software };
constexpr auto words(PlatformKind) { return std::to_array<std::string_view>({"switch", "nic", "software"}); }

struct Platform {
  std::string name;
  std::string about;
  PlatformKind kind = PlatformKind::switching;

  std::optional<Figure> cell_bytes;
  std::optional<Figure> pipeline_bytes;
  std::optional<Figure> mac_phy_bytes;
  std::optional<Figure> peer_response_bytes;
  std::optional<Figure> small_packet_percent;
  std::optional<Figure> gearbox_ns;       // that a gearbox holds a frame, one way
  std::optional<Figure> eight_lane_gbps;  // the speed whose ports have eight lanes
  std::optional<Figure> shared_buffer_bytes;
  std::optional<Figure> shared_headroom_bytes;  // of it: from which all classes take what comes after XOFF
  std::optional<Figure> alpha_log2;             // of a lossless priority group's dynamic threshold
  std::optional<Figure> receive_buffer_bytes;   // of one port of a NIC
  std::optional<Figure> traffic_classes;
  std::optional<Figure> lossless_classes;  // that one port can have
  std::optional<Figure> rdma_ports_max;    // of one adapter
  std::optional<Figure> mtu_min;           // IP MTU, bytes
  std::optional<Figure> mtu_max;
  std::optional<Figure> watchdog_min_ms;  // shortest time of its PFC watchdog

  std::optional<Fact> pfc;
  std::optional<Fact> ecn;
  std::optional<Fact> trust_dscp;
  std::optional<Fact> trust_pcp;
  std::optional<Fact> trust_exclusive;  // DSCP and PCP modes exclude each other
  std::optional<Fact> priority_is_tc;   // in DSCP mode priority n is traffic class n
  std::optional<Fact> per_packet;       // sprays packets over equal paths
  std::optional<Fact> flowlet;
  std::optional<Fact> out_of_order;  // places packets that arrive out of order
  std::optional<Fact> rdma;
  std::optional<Fact> own_headroom;  // a NIC's firmware sizes its receive headroom: nothing can be set

  std::optional<PublishedEcn> ecn_defaults;
  std::vector<PublishedEcn> other_ecn_defaults;  // of other SKUs, releases or modes
  std::optional<NamedRule> headroom_rule;        // of a NIC's kernel driver; mlx5 is the one that is known
  std::vector<PauseQuanta> pause_quanta;
  std::string pause_quanta_source;
  std::vector<HeadroomRow> headroom;
  std::vector<HashField> hash_fields;  // empty: not known
  std::string hash_fields_source;
  std::string adaptive_routing_setting;  // of the firmware, without which out_of_order isn't; empty: none
  std::string adaptive_routing_source;
  std::vector<NeedsReset> needs_reset;
  std::vector<PlatformNote> notes;
};

struct FigureKey {
  std::string_view key;  // in the file
  std::optional<Figure> Platform::*member;
  std::string_view unit;
  std::string_view about;
};
struct FactKey {
  std::string_view key;
  std::optional<Fact> Platform::*member;
  std::string_view about;
};
std::span<const FigureKey> figure_keys();
std::span<const FactKey> fact_keys();

// A platform of that name, of the specs' own or of the tree; the error says which there are, or which was
// meant. Valid as long as the program runs.
Result<const Platform*> find_platform(const Catalog& catalog, std::string_view name);
Result<const Platform*> find_platform(std::string_view name);  // of the tree
// Both, by name; of two of one name the specs' own.
std::vector<const Platform*> platforms_of(const Catalog& catalog);
// What is wrong with the specs' own.
Diagnostics check_platforms(const Catalog& catalog);

// Those of the tree by name. An error is a bug in a file of the tree.
const Result<std::vector<Platform>>& all_platforms();
// `line`: of what is wrong.
Result<Platform> parse_platform(std::string_view file, std::string_view text, std::uint32_t* line = nullptr);

// A file that the build embedded.
struct EmbeddedText {
  std::string_view name;
  std::string_view text;
};
std::span<const EmbeddedText> embedded_platforms();

}  // namespace lockstep
