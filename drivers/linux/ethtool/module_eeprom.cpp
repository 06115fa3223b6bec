#include "drivers/linux/ethtool/module_eeprom.hpp"

#include <algorithm>
#include <array>

#include "drivers/linux/ethtool/messages.hpp"
#include "drivers/linux/generic_netlink.hpp"

namespace lockstep::ethtool {
namespace {

using netlink::Bytes;

enum class Management : std::uint8_t { sff8472, sff8636, cmis };

struct Identifier {
  std::uint8_t code;  // SFF-8024, table 4-1
  std::string_view kind;
  Management management;
};
constexpr Identifier kIdentifiers[] = {
    {0x03, "SFP", Management::sff8472},    {0x0B, "DWDM-SFP", Management::sff8472},
    {0x0C, "QSFP", Management::sff8636},   {0x0D, "QSFP+", Management::sff8636},
    {0x11, "QSFP28", Management::sff8636}, {0x18, "QSFP-DD", Management::cmis},
    {0x19, "OSFP", Management::cmis},      {0x1E, "QSFP with CMIS", Management::cmis},
    {0x1F, "SFP-DD", Management::cmis},    {0x20, "SFP with CMIS", Management::cmis}};

// Offsets of the texts: SFF-8472 table 4-1, SFF-8636 table 6-14, CMIS 5.0 table 8-27.
struct Texts {
  std::size_t vendor;
  std::size_t part;
  std::size_t revision;
  std::size_t revision_size;
  std::size_t serial;
};
constexpr std::size_t kTextSize = 16;
constexpr Texts texts_of(Management management) {
  switch (management) {
    case Management::sff8472: return {20, 40, 56, 4, 68};
    case Management::sff8636: return {148, 168, 184, 2, 196};
    case Management::cmis: break;
  }
  return {129, 148, 164, 2, 166};
}

constexpr std::size_t kMemory = std::size_t{2} * kModuleHalf;

std::uint8_t number(Bytes memory, std::size_t at) { return std::to_integer<std::uint8_t>(memory[at]); }

std::string text(Bytes memory, std::size_t at, std::size_t size) {
  std::string out;
  for (const std::byte one : memory.subspan(at, size)) {
    const auto letter = std::to_integer<unsigned char>(one);
    if (letter == 0) break;
    out += letter >= ' ' && letter <= '~' ? static_cast<char>(letter) : '?';
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  // Memory that was never written has all bits set.
  return out.find_first_not_of('?') == std::string::npos ? std::string() : out;
}

// SFF-8024's connector types for modules without a connector: the cable is part of the module.
bool is_cable(std::uint8_t connector) { return connector == 0x21 || connector == 0x23; }

// Device technology: SFF-8636 table 6-21 (upper four bits), CMIS 5.0 table 8-36.
std::string medium_of(std::uint8_t technology) {
  if (technology == 0x0A || technology == 0x0B) return "passive copper";
  if (technology >= 0x0C && technology <= 0x0F) return "active copper";
  return "optical";
}

void add_sff8472_cable(Bytes memory, ModuleFacts& out) {
  constexpr std::uint8_t kPassive = 0x04;
  constexpr std::uint8_t kActive = 0x08;
  const std::uint8_t cable = number(memory, 8);
  out.medium = (cable & kPassive) != 0  ? "passive copper"
               : (cable & kActive) != 0 ? "active copper"
                                        : "optical";
  // For copper, the length in metres; else it is the supported reach over a separate fibre, which can't be
  // measured.
  if (out.medium != "optical") out.decimetres = number(memory, 18) * 10U;
}

void add_sff8636_cable(Bytes memory, ModuleFacts& out) {
  out.medium = medium_of(number(memory, 147) >> 4);
  if (is_cable(number(memory, 130)) || out.medium != "optical") out.decimetres = number(memory, 146) * 10U;
}

void add_cmis_cable(Bytes memory, ModuleFacts& out) {
  out.medium = medium_of(number(memory, 212));
  constexpr std::array<std::uint32_t, 4> kMultipliers = {1, 10, 100, 1000};  // of decimetres
  const std::uint8_t length = number(memory, 202);
  if (is_cable(number(memory, 203)) || out.medium != "optical")
    out.decimetres = (length & 0x3FU) * kMultipliers.at(length >> 6);
}

}  // namespace

Result<ModuleFacts> decode_module(Bytes memory) {
  if (memory.size() < kMemory)
    return Error{ErrorKind::transient, "a module's memory of " + std::to_string(memory.size()) + " bytes"};
  const std::uint8_t code = number(memory, 0);
  const auto* const known = std::ranges::find(kIdentifiers, code, &Identifier::code);
  if (known == std::end(kIdentifiers))
    return Error{ErrorKind::unsupported, "a module of kind " + std::to_string(code) + " (SFF-8024)"};
  ModuleFacts out;
  out.kind = known->kind;
  const Texts where = texts_of(known->management);
  out.vendor = text(memory, where.vendor, kTextSize);
  out.part = text(memory, where.part, kTextSize);
  out.revision = text(memory, where.revision, where.revision_size);
  out.serial = text(memory, where.serial, kTextSize);
  switch (known->management) {
    case Management::sff8472: add_sff8472_cable(memory, out); break;
    case Management::sff8636: add_sff8636_cable(memory, out); break;
    case Management::cmis: add_cmis_cable(memory, out); break;
  }
  return out;
}

netlink::Request module_request(std::uint16_t family, std::uint32_t index, std::uint32_t offset) {
  constexpr std::uint8_t kAddress = 0x50;
  netlink::Request out = request(family, ETHTOOL_MSG_MODULE_EEPROM_GET, NLM_F_ACK, index);
  out.put_number(ETHTOOL_A_MODULE_EEPROM_OFFSET, offset)
      .put_number(ETHTOOL_A_MODULE_EEPROM_LENGTH, kModuleHalf)
      .put_number(ETHTOOL_A_MODULE_EEPROM_PAGE, std::uint8_t{0})
      .put_number(ETHTOOL_A_MODULE_EEPROM_I2C_ADDRESS, kAddress);
  return out;
}

Result<std::vector<std::byte>> decode_module_half(Bytes payload) {
  TRY(const auto table, netlink::AttributeTable<ETHTOOL_A_MODULE_EEPROM_MAX + 1>::parse(
                            netlink::after_genl(payload), "module reply"));
  const Bytes data = table.bytes(ETHTOOL_A_MODULE_EEPROM_DATA);
  if (data.size() != kModuleHalf)
    return Error{ErrorKind::transient,
                 "netlink: " + std::to_string(data.size()) + " bytes of a module in place of 128"};
  return std::vector<std::byte>(data.begin(), data.end());
}

}  // namespace lockstep::ethtool
