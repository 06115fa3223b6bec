// The map between entries and what ethtool reports for one port: the only file of this part that names rows.
//
// Promises: value_of() and put() are inverses: after a value was put into a request the port reports it, or
// difference() describes what it adopted instead. Speed is the link's actual speed; if the port negotiates,
// setting it limits what is advertised. Refuses, before anything is sent: a value of the wrong form or
// absent, one above the port's reported maximum, and a speed that none of its modes has.
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

// Common to all ports: the kernel's names, and the offloads that are looked for.
struct Names {
  ethtool::FeatureNames features;
  std::vector<std::string> link_modes;
  std::set<std::string, std::less<>> offloads{std::begin(ethtool::kUsualOffloads),
                                              std::end(ethtool::kUsualOffloads)};
};

// All entries of a kind. A number that the port does not have is absent.
std::vector<Entry> entries(std::string_view port, ethtool::Kind kind, const ethtool::Facts& facts,
                           const Names& names);
Value value_of(Path entry, const ethtool::Facts& facts, const Names& names);

// Single entries that are missing on a port that supports the kind ("port: ethtool -l tells no rx").
std::vector<Incapable> lacking(const Link& port, ethtool::Kind kind, const ethtool::Facts& facts,
                               const Names& names);

// What the ports don't support of one kind. `why_not`: why a port does not support the kind (`has`: it
// reported something of it), or does not allow setting it; empty: it does. A port for which this can't be
// determined is left out.
using WhyNot = std::function<Result<std::string>(const Link& port, bool has)>;
std::vector<Incapable> incapable(const std::vector<Link>& ports, ethtool::Kind kind, const FactsByPort& all,
                                 const Names& names, const WhyNot& why_not);

// Whether the change can be requested of the port in its current state.
Result<Done> check(const Change& change, const Link& port, const ethtool::Facts& facts, const Names& names);
// Puts changes of one kind of one port that passed check() into one request.
void put(const std::vector<const Change*>& changes, const ethtool::Facts& facts, const Names& names,
         netlink::Request& request);
// Why an acknowledged change differs from the port's resulting value. None: it does not.
std::optional<Error> difference(const Change& change, const ethtool::Facts& before,
                                const ethtool::Facts& after, const Names& names);

// As commands of ethtool(8).
std::string native(const Change& change);

}  // namespace lockstep::ethtool_map
