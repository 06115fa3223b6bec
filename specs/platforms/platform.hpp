// Platform: the capabilities of a switching chip or network card, and the constants that proofs and
// calculations need.
//
// Read from specs/platforms/*.yaml, which the build embeds: nothing is installed or opened at run time; and
// from files of the same form in a folder `platforms` beside the specs, which take precedence.
// Promises: every number and fact has its source, and the other values where sources disagree; without a
// source a value is absent (nullopt), never a default. Refuses: a file with an unknown key, or a number
// without a source (a bug of the tree: all_platforms() then reports the file and line, and a unit test
// fails).
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
  std::uint64_t xon_bytes = 0;         // XON is sent when at most this much is left
  std::uint64_t xon_offset_bytes = 0;  // or this much less than when XOFF was sent
  std::uint64_t xoff_bytes = 0;        // still accepted after XOFF is sent
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

// What a platform's vendor ships or documents for the ECN of a lossless class.
struct PublishedEcn {
  std::uint64_t kmin_bytes = 0;
  std::uint64_t kmax_bytes = 0;
  Ratio pmax;
  std::string source;
};
// A rule implemented here, by name.
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
  std::optional<Figure> gearbox_ns;       // delay of a frame in a gearbox, one way
  std::optional<Figure> eight_lane_gbps;  // the speed at which ports have eight lanes
  std::optional<Figure> shared_buffer_bytes;
  std::optional<Figure> shared_headroom_bytes;  // part of the buffer that all classes share after XOFF
  std::optional<Figure> alpha_log2;             // dynamic threshold of a lossless priority group
  std::optional<Figure> receive_buffer_bytes;   // one port of a NIC
  std::optional<Figure> traffic_classes;
  std::optional<Figure> lossless_classes;  // per port
  std::optional<Figure> capacity_gbps;     // of a switch: the speeds of all ports together
  std::optional<Figure> lanes;             // of a switch: SerDes for ports; a port needs at least one
  std::optional<Figure> rdma_ports_max;    // per adapter
  std::optional<Figure> mtu_min;           // IP MTU, bytes
  std::optional<Figure> mtu_max;
  std::optional<Figure> watchdog_min_ms;            // minimum time of its PFC watchdog
  std::optional<Figure> watchdog_detection_max_ms;  // restoration has no limit below the language's 60 s

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
  std::optional<Fact> own_headroom;  // a NIC's firmware sizes its receive headroom: it can't be set

  std::optional<PublishedEcn> ecn_defaults;
  std::vector<PublishedEcn> other_ecn_defaults;  // for other SKUs, releases or modes
  std::optional<NamedRule> headroom_rule;        // rule of a NIC's kernel driver; mlx5 is the only known one
  std::vector<PauseQuanta> pause_quanta;
  std::string pause_quanta_source;
  std::vector<HeadroomRow> headroom;
  std::vector<HashField> hash_fields;  // empty: not known
  std::string hash_fields_source;
  std::string adaptive_routing_setting;  // firmware setting that out_of_order requires; empty: none
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

// A platform of that name, from the specs or the tree; the error lists the platforms, or suggests a similar
// name. Valid for the life of the program.
Result<const Platform*> find_platform(const Catalog& catalog, std::string_view name);
Result<const Platform*> find_platform(std::string_view name);  // from the tree
// From both, by name; the specs' own take precedence.
std::vector<const Platform*> platforms_of(const Catalog& catalog);
// Errors in the specs' own platforms.
Diagnostics check_platforms(const Catalog& catalog);

// Those of the tree, by name. An error is a bug in a file of the tree.
const Result<std::vector<Platform>>& all_platforms();
// `at`: set to the position of an error.
Result<Platform> parse_platform(std::string_view file, std::string_view text, Position* at = nullptr);

// A file that the build embedded.
struct EmbeddedText {
  std::string_view name;
  std::string_view text;
};
std::span<const EmbeddedText> embedded_platforms();

}  // namespace lockstep
