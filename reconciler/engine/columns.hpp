// Columns: the schema's columns as the planner reads them: patterns resolved to rows, once.
//
// Promises: path text is never parsed here; a column that names a row which does not exist reads as unset.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "specs/model/path.hpp"
#include "specs/model/schema.hpp"
#include "specs/model/value.hpp"

namespace lockstep {

// What must be alike at both ends of a cable: changing one end alone is worse than changing neither.
enum class LinkMatter : std::uint8_t { none, mtu, lossless, fec, speed };
// For the row alone; rows committed with it or referring to it: link_ends.hpp.
constexpr LinkMatter link_matter(const Row& row) {
  if (row.crosses(Ladder::mtu)) return LinkMatter::mtu;
  if (row.crosses(Ladder::lossless)) return LinkMatter::lossless;
  if (row.pattern == "interface[*]/fec") return LinkMatter::fec;
  return row.pattern == "interface[*]/speed" ? LinkMatter::speed : LinkMatter::none;
}
std::string_view to_string(LinkMatter matter);
// Rows that make a port an endpoint of traffic.
constexpr bool gives_an_end(const Row& row) { return row.pattern == "interface[*]/address[*]"; }

class Columns {
 public:
  explicit Columns(const Row& (*row)(RowId));

  struct Reference {
    RowId row = 0;
    std::size_t shared = 0;  // number of leading keys that both patterns share
  };
  struct GuardColumn {
    RowId row = 0;
    std::size_t shared = 0;
    Value value;
  };

  // The rows of one priority or class of a port; none: the schema has no such row.
  struct PriorityRows {
    std::optional<RowId> pfc;  // the lossless priorities
    std::optional<RowId> class_itself;
    std::optional<RowId> class_dscp;
    std::optional<RowId> class_priority;
    std::optional<RowId> class_share;
    std::optional<RowId> buffer_size;
    std::optional<RowId> buffer_xoff;
  };

  // Rows that determine the packet size of a host; none: the schema has no such row.
  struct MtuRows {
    std::optional<RowId> port;     // its MTU
    std::optional<RowId> lock;     // the lower MTU that routes are locked to
    std::optional<RowId> address;  // determines the port's pool
    std::optional<RowId> admin;    // a route over a port that is shut down can't be written
    std::optional<RowId> route;    // what is locked
    std::optional<RowId> rule;
  };

  const Row& row(RowId id) const { return row_(id); }
  const std::optional<Reference>& refers_to(RowId id) const { return refers_to_[id]; }
  const std::optional<GuardColumn>& guard(RowId id) const { return guards_[id]; }
  // The number of leading keys that identify a commit unit of this row.
  std::size_t commit_keys(RowId id) const { return commit_keys_[id]; }
  bool is_written(RowId id) const;
  // The rows that must be written after each change of this one, each where the same driver has it; none: its
  // changes are persistent by themselves.
  const std::vector<Reference>& saved_by(RowId id) const { return saved_by_[id]; }
  // Collections whose members mean that their port or device has traffic: addresses, neighbours, routes.
  const std::vector<RowId>& traffic_collections() const { return traffic_collections_; }
  const PriorityRows& priority_rows() const { return priority_rows_; }
  const MtuRows& mtu_rows() const { return mtu_rows_; }
  // By the patterns: "a[*]/b" is a part of "a[*]", with equal keys.
  bool is_part_of(Path part, Path whole) const;

 private:
  const Row& (*row_)(RowId);
  std::vector<std::optional<Reference>> refers_to_;
  std::vector<std::optional<GuardColumn>> guards_;
  std::vector<std::vector<Reference>> saved_by_;
  std::vector<std::size_t> commit_keys_;
  std::vector<RowId> traffic_collections_;
  PriorityRows priority_rows_;
  MtuRows mtu_rows_;
};

// The program's schema, resolved once.
const Columns& schema_columns();

bool same_keys(Path a, Path b, std::size_t count);
// The path of `row` with the first `count` keys of `path`.
Path with_keys_of(RowId row, Path path, std::size_t count);

}  // namespace lockstep
