#include "drivers/linux/ethtool/inventory.hpp"

#include <linux/ethtool.h>

#include "drivers/linux/ethtool/ethtool.hpp"

namespace lockstep::ethtool {
namespace {

using LinkModeNames = std::vector<std::string>;

void tell(const LinkModes& link, const LinkModeNames& names, NicFacts& out) {
  out.speed = link.speed;
  out.speeds = speeds_of(link.supported, names);
  if (bit(link.supported, ETHTOOL_LINK_MODE_Autoneg_BIT)) out.autoneg = link.autoneg;
}

void tell(const Fec& fec, NicFacts& out) {
  out.fec = words_of(fec);
  if (fec.active) out.fec_active = fec_word(*fec.active);
}

std::map<std::string, Amount, std::less<>> amounts(Kind kind, const Numbers& numbers) {
  std::map<std::string, Amount, std::less<>> out;
  for (const NumberAttribute& one : kNumberAttributes) {
    if (one.kind != kind) continue;
    if (const auto now = numbers.find(one.attribute), max = numbers.find(one.max);
        now != numbers.end() && max != numbers.end())
      out.emplace(one.option, Amount{now->second, max->second});
  }
  return out;
}

void tell(Kind kind, const Facts& facts, const LinkModeNames& names, NicFacts& out) {
  switch (kind) {
    case Kind::link: return tell(std::get<LinkModes>(facts), names, out);
    case Kind::fec: return tell(std::get<Fec>(facts), out);
    case Kind::rings: out.rings = amounts(kind, std::get<Numbers>(facts)); return;
    default: out.channels = amounts(kind, std::get<Numbers>(facts)); return;
  }
}

}  // namespace

Result<std::map<std::uint32_t, NicFacts>> read_nics(const std::vector<Link>& ports, const Call& call) {
  TRY(Ethtool ethtool, Ethtool::open(call));
  TRY(const LinkModeNames names, ethtool.names(ETH_SS_LINK_MODES, call));
  std::map<std::uint32_t, NicFacts> out;
  for (const Kind kind : {Kind::link, Kind::fec, Kind::rings, Kind::channels})
    for (const Link& port : ports) {
      TRY(const Ethtool::Read read, ethtool.read(kind, port.index, call));
      if (read.facts) tell(kind, *read.facts, names, out[port.index]);
    }
  for (const Link& port : ports) {
    TRY(const auto memory, ethtool.module_memory(port.index, call));
    if (!memory) continue;
    if (auto module = decode_module(*memory)) out[port.index].module = *std::move(module);
  }
  return out;
}

}  // namespace lockstep::ethtool
