// The map between entries and what ethtool tells of one port: the only place of this part that names rows.
//
// Promises: value_of() and put() are inverses: the value that was put into a request is the one that the port
// then tells, or difference() says what it took instead. Speed is what the link has; where the port
// negotiates, setting it limits what is advertised. Refuses, before anything is sent: a value of the wrong
// form, none, more than the port says that it takes, a speed that none of its modes has.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "drivers/driver.hpp"
#include "drivers/linux/ethtool/ethtool.hpp"
#include "drivers/linux/ethtool/features.hpp"
#include "drivers/linux/kernel_state.hpp"
#include "specs/model/diff.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep::ethtool_map {

inline constexpr RowId kOffload = row("interface[*]/offload[*]");

std::vector<RowId> rows();
ethtool::Kind kind_of(RowId row);  // of one of rows()

// What is the same for all ports: the kernel's names, and the offloads that are looked for.
struct Names {
  ethtool::FeatureNames features;
  std::vector<std::string> link_modes;
  std::set<std::string, std::less<>> offloads{std::begin(ethtool::kUsualOffloads),
                                              std::end(ethtool::kUsualOffloads)};
};

// All entries of a kind. A number that the port has not is not there.
std::vector<Entry> entries(std::string_view port, ethtool::Kind kind, const ethtool::Facts& facts,
                           const Names& names);
Value value_of(Path entry, const ethtool::Facts& facts, const Names& names);

// Single entries that a port which has the kind has not ("port: ethtool -l tells no rx").
std::vector<Incapable> lacking(const Link& port, ethtool::Kind kind, const ethtool::Facts& facts,
                               const Names& names);

// What the ports lack of one kind. `why_not`: why a port has not the kind (`has`: it told something of it),
// or can't have it set; empty: it can. A port that it can't be asked of is left out.
using WhyNot = std::function<Result<std::string>(const Link& port, bool has)>;
std::vector<Incapable> incapable(const std::vector<Link>& ports, ethtool::Kind kind, const FactsByPort& all,
                                 const Names& names, const WhyNot& why_not);

// Whether the port, as it is, can be asked for it.
Result<Done> check(const Change& change, const Link& port, const ethtool::Facts& facts, const Names& names);
// Changes of one kind of one port that passed check(), into one request.
void put(const std::vector<const Change*>& changes, const ethtool::Facts& facts, const Names& names,
         netlink::Request& request);
// Why the change, which the kernel acknowledged, is not what the port has. None: it is.
std::optional<Error> difference(const Change& change, const ethtool::Facts& before,
                                const ethtool::Facts& after, const Names& names);

// In words of ethtool(8).
std::string native(const Change& change);

}  // namespace lockstep::ethtool_map
