// The traffic classes of one port in Lockstep's terms, and the kernel's objects that implement them: ETS
// (which priorities map to a class, and how it is served), the app table (which priority a DSCP has) and the
// maximal rates. No I/O.
//
// Promises: classes_of() is the inverse of ets_for(), rates_for() and dscp_entries(). A class exists if
// priorities map to it; each of the eight maps to one. The settings of a traffic class that no priority maps
// to are unmanaged, and are reset to plain values. Not modelled: which of its class's priorities a DSCP has.
// It keeps its current one if that is among them, else gets the lossless one, else the lowest. Refuses
// classes that no port can have (802.1Qaz): shares that don't sum to 100 %, a strict class with a share, more
// than the port has.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "drivers/linux/dcb/dcbnl.hpp"

namespace lockstep::dcb {

struct PortClass {
  std::set<std::uint8_t> priorities;
  std::set<std::uint8_t> dscp;
  std::optional<std::uint8_t> share;  // percent of what strict classes leave
  bool strict = false;  // neither strict nor a share: a vendor-specific algorithm, or what is left over
  std::optional<std::uint64_t> max_rate;  // kbit/s
  bool operator==(const PortClass&) const = default;
};
using PortClasses = std::map<unsigned, PortClass>;  // by number

PortClasses classes_of(const PortDcb& port);

// Priorities that no class has go to the class of priority 0, else to the lowest one; a class that ends up
// without priorities is removed.
void place_priorities(PortClasses& classes);

// `classes`: each of the eight priorities in one of them.
Result<Done> check(const PortClasses& classes, const ieee_ets& have);
ieee_ets ets_for(const PortClasses& classes, const ieee_ets& have);
bool same_ets(const ieee_ets& a, const ieee_ets& b);
ieee_maxrate rates_for(const PortClasses& classes, const ieee_maxrate& have);

// DSCP and priority. If a DSCP is listed twice, both classes are reported to have it.
using DscpEntries = std::set<std::pair<std::uint8_t, std::uint8_t>>;
DscpEntries dscp_entries(const PortDcb& port);
DscpEntries dscp_entries(const PortClasses& classes, const PortDcb& have, std::uint8_t lossless);
// Selectors. Without a trust table: DSCP while there are entries of DSCPs, as in mlx5, ice and mlxsw
// (mlx5/core/en_dcbnl.c: mlx5e_dcbnl_ieee_setapp, ice_dcb_nl.c: ice_dcbnl_setapp, mlxsw/spectrum_dcb.c:
// mlxsw_sp_port_dcb_app_update), else the VLAN tag's priority.
std::vector<std::uint8_t> trust_of(const PortDcb& port);
// Those of `all` that are not in `but`, for the app table.
std::vector<dcb_app> entries_without(const DscpEntries& all, const DscpEntries& but);

}  // namespace lockstep::dcb
