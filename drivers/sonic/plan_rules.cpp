#include "drivers/sonic/plan_rules.hpp"

#include "specs/model/ip.hpp"

namespace lockstep::sonic {

std::string address_of_row(std::string_view table, std::string_view key) {
  const std::size_t bar = key.find('|');
  if (bar == key.npos || std::ranges::find(kAddressTables, table) == kAddressTables.end()) return {};
  const std::string_view text = key.substr(bar + 1);
  const std::optional<IpPrefix> prefix = IpPrefix::parse(text);
  return prefix ? prefix->text() : std::string(text);
}

}  // namespace lockstep::sonic
