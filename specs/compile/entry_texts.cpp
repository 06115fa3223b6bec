#include "specs/compile/entry_texts.hpp"

#include "specs/language/quantity.hpp"
#include "specs/model/ip.hpp"

namespace lockstep {

bool PortText::fits(std::string_view text) {
  return !text.empty() && text != "." && text.find("..") == text.npos &&
         text.find_first_of(" \t\n[]") == text.npos;
}

bool RemoteAs::fits(std::string_view text) {
  if (text == "external" || text == "internal") return true;
  return text.find('-') == text.npos && !text.starts_with('0') && static_cast<bool>(parse_asn_range(text));
}

bool RouterId::fits(std::string_view text) {
  const auto address = IpAddress::parse(text);
  return address && !address->v6 && *address != IpAddress::v4(0);  // RFC 6286 2.1
}

bool VlanMember::fits(std::string_view text) {
  constexpr unsigned last = 4094;  // IEEE 802.1Q table 9-2
  const std::size_t blank = std::min(text.find(' '), text.size());
  const std::string_view id = text.substr(0, blank);
  const std::string_view tag = text.substr(blank);
  return (tag == " tagged" || tag == " untagged") && !id.empty() && id.size() <= 4 && id[0] != '0' &&
         id.find_first_not_of("0123456789") == id.npos && std::stoul(std::string(id)) <= last;
}

bool NextHopText::fits(std::string_view text) {
  constexpr std::string_view via = "via ";
  constexpr std::string_view dev = "dev ";
  if (text.starts_with(via)) {
    const std::size_t end = text.find(' ', via.size());
    if (end == text.npos || !IpAddress::parse(text.substr(via.size(), end - via.size()))) return false;
    text.remove_prefix(end + 1);
  }
  return text.starts_with(dev) && PortText::fits(text.substr(dev.size()));
}

bool DcbxMode::fits(std::string_view text) {
  if (text.empty()) return false;
  for (const std::string_view word : {"host", "lld-managed", "cee", "ieee", "static"}) {
    if (!text.starts_with(word)) continue;
    text.remove_prefix(word.size());
    if (text.empty()) return true;
    if (text.size() == 1 || text.front() != ' ') return false;
    text.remove_prefix(1);
  }
  return false;
}

}  // namespace lockstep
