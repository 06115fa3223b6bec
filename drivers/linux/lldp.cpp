#include "drivers/linux/lldp.hpp"

#include <algorithm>

#include "drivers/linux/kernel_address.hpp"
#include "specs/model/printable.hpp"

namespace lockstep {
namespace {

using netlink::Bytes;

// TLV types and subtypes: IEEE 802.1AB-2016, tables 8-1 to 8-3.
enum TlvType : unsigned {
  kEnd = 0,
  kChassisId = 1,
  kPortId = 2,
  kTimeToLive = 3,
  kPortDescription = 4,
  kSystemName = 5
};
constexpr unsigned kChassisMac = 4;
constexpr unsigned kPortMac = 3;
constexpr unsigned kPortInterfaceName = 5;
constexpr unsigned kPortLocal = 7;
constexpr unsigned kNetworkAddress[] = {5, 4};  // chassis, port
constexpr std::size_t kTextMax = 255;           // 802.1AB, 8.5: strings are at most 255 octets

struct Tlv {
  unsigned type = kEnd;
  Bytes value;
};

// Type in 7 bits, length in 9.
Result<Tlv> next_tlv(Bytes& rest) {
  const Error cut{ErrorKind::transient, "LLDP: the frame is cut short"};
  if (rest.size() < 2) return cut;
  const unsigned head = std::to_integer<unsigned>(rest[0]) << 8 | std::to_integer<unsigned>(rest[1]);
  const std::size_t length = head & 0x1FF;
  if (rest.size() < 2 + length) return cut;
  const Tlv out{head >> 9, rest.subspan(2, length)};
  rest = rest.subspan(2 + length);
  return out;
}

std::string text_of(Bytes bytes) {
  std::string out;
  for (const std::byte one : bytes.first(std::min(bytes.size(), kTextMax))) {
    const auto code = std::to_integer<unsigned char>(one);
    if (code == 0) break;
    out += static_cast<char>(code);
  }
  return out;
}

std::string identifier(Bytes value, unsigned mac_subtype, unsigned network_subtype) {
  const unsigned subtype = std::to_integer<unsigned>(value[0]);
  const Bytes body = value.subspan(1);
  if (subtype == mac_subtype) return hardware_address_text(body);
  if (subtype == network_subtype && !body.empty()) {  // an IANA address family number, then the address
    if (const auto address = address_from_bytes(body.subspan(1))) return address->text();
    return hardware_address_text(body);
  }
  return text_of(body);
}

}  // namespace

std::string LldpNeighbour::text() const {
  const std::string& port = port_is_name || port_description.empty() ? port_id : port_description;
  return printable((system_name.empty() ? chassis : system_name) + ":" + port);
}

Result<LldpNeighbour> decode_lldp(Bytes frame) {
  LldpNeighbour out;
  // The first three are mandatory and in this order (8.2); the rest may come in any order.
  for (const unsigned wanted : {kChassisId, kPortId, kTimeToLive}) {
    TRY(const Tlv tlv, next_tlv(frame));
    if (tlv.type != wanted || tlv.value.size() < 2)
      return Error{ErrorKind::transient, "LLDP: a mandatory TLV is missing"};
    if (wanted == kChassisId) out.chassis = identifier(tlv.value, kChassisMac, kNetworkAddress[0]);
    if (wanted == kPortId) {
      const unsigned subtype = std::to_integer<unsigned>(tlv.value[0]);
      out.port_id = identifier(tlv.value, kPortMac, kNetworkAddress[1]);
      out.port_is_name = subtype == kPortInterfaceName || subtype == kPortLocal;
    }
    if (wanted == kTimeToLive)
      out.lifetime = std::chrono::seconds(std::to_integer<unsigned>(tlv.value[0]) << 8 |
                                          std::to_integer<unsigned>(tlv.value[1]));
  }
  while (!frame.empty()) {
    TRY(const Tlv tlv, next_tlv(frame));
    if (tlv.type == kEnd) break;  // padding to the minimum Ethernet frame follows
    if (tlv.type == kPortDescription) out.port_description = text_of(tlv.value);
    if (tlv.type == kSystemName) out.system_name = text_of(tlv.value);
  }
  return out;
}

}  // namespace lockstep
