#include "drivers/linux/ethtool/messages.hpp"

#include <linux/ethtool.h>
#include <linux/genetlink.h>

#include <algorithm>
#include <charconv>

#include "drivers/linux/generic_netlink.hpp"

namespace lockstep::ethtool {
namespace {

using netlink::AttributeTable;
using netlink::AttributeWalk;
using netlink::Bytes;
using netlink::Request;

constexpr std::uint16_t kHeader = 1;  // ETHTOOL_A_*_HEADER, the first attribute of every message

// Finds a number by its own attribute or that of its maximum; null: neither.
const NumberAttribute* number_of(Kind kind, std::uint16_t attribute) {
  for (const NumberAttribute& one : kNumberAttributes)
    if (one.kind == kind && (one.attribute == attribute || (one.max != 0 && one.max == attribute)))
      return &one;
  return nullptr;
}

struct FecWord {
  std::string_view word;
  std::uint32_t bit;
};
constexpr FecWord kFecWords[] = {{"off", ETHTOOL_LINK_MODE_FEC_NONE_BIT},
                                 {"rs", ETHTOOL_LINK_MODE_FEC_RS_BIT},
                                 {"baser", ETHTOOL_LINK_MODE_FEC_BASER_BIT},
                                 {"llrs", ETHTOOL_LINK_MODE_FEC_LLRS_BIT}};

Bits words_of_bytes(Bytes bytes) {
  Bits out;
  for (; bytes.size() >= sizeof(std::uint32_t); bytes = bytes.subspan(sizeof(std::uint32_t)))
    out.push_back(netlink::read_as<std::uint32_t>(bytes).value_or(0));
  return out;
}

struct Bitset {
  Bits value;
  Bits mask;
};
Result<Bitset> decode_bitset(Bytes payload) {
  TRY(const auto table, AttributeTable<ETHTOOL_A_BITSET_MAX + 1>::parse(payload, "bitset"));
  for (const std::size_t part : {ETHTOOL_A_BITSET_VALUE, ETHTOOL_A_BITSET_MASK})
    if (table.bytes(part).size() % sizeof(std::uint32_t) != 0)
      return Error{ErrorKind::transient, "netlink: a bitset with half a word"};
  return Bitset{words_of_bytes(table.bytes(ETHTOOL_A_BITSET_VALUE)),
                words_of_bytes(table.bytes(ETHTOOL_A_BITSET_MASK))};
}

Result<std::uint32_t> decode_header(Bytes payload) {
  TRY(auto header, AttributeTable<ETHTOOL_A_HEADER_MAX + 1>::parse(payload, "header"));
  const auto index = header.number<std::uint32_t>(ETHTOOL_A_HEADER_DEV_INDEX);
  TRY_DONE(header.sound("header"));
  if (!index || *index == 0) return Error{ErrorKind::transient, "netlink: an ethtool reply without its port"};
  return *index;
}

Result<PortFacts> decode_link(Bytes attributes) {
  TRY(auto table, AttributeTable<ETHTOOL_A_LINKMODES_MAX + 1>::parse(attributes, "link modes reply"));
  PortFacts out;
  TRY(out.index, decode_header(table.bytes(ETHTOOL_A_LINKMODES_HEADER)));
  TRY(Bitset ours, decode_bitset(table.bytes(ETHTOOL_A_LINKMODES_OURS)));
  LinkModes link;
  link.autoneg = table.number<std::uint8_t>(ETHTOOL_A_LINKMODES_AUTONEG).value_or(0) != 0;
  link.speed = table.number<std::uint32_t>(ETHTOOL_A_LINKMODES_SPEED);
  if (link.speed && (*link.speed == 0 || *link.speed == static_cast<std::uint32_t>(SPEED_UNKNOWN)))
    link.speed.reset();
  link.supported = std::move(ours.mask);
  link.advertised = std::move(ours.value);
  TRY_DONE(table.sound("link modes reply"));
  out.facts = std::move(link);
  return out;
}

Result<PortFacts> decode_fec(Bytes attributes) {
  TRY(auto table, AttributeTable<ETHTOOL_A_FEC_MAX + 1>::parse(attributes, "FEC reply"));
  PortFacts out;
  TRY(out.index, decode_header(table.bytes(ETHTOOL_A_FEC_HEADER)));
  TRY(Bitset modes, decode_bitset(table.bytes(ETHTOOL_A_FEC_MODES)));
  Fec fec;
  fec.automatic = table.number<std::uint8_t>(ETHTOOL_A_FEC_AUTO).value_or(0) != 0;
  fec.modes = std::move(modes.value);
  fec.active = table.number<std::uint32_t>(ETHTOOL_A_FEC_ACTIVE);
  TRY_DONE(table.sound("FEC reply"));
  out.facts = std::move(fec);
  return out;
}

Result<PortFacts> decode_features(Bytes attributes) {
  TRY(const auto table, AttributeTable<ETHTOOL_A_FEATURES_MAX + 1>::parse(attributes, "features reply"));
  PortFacts out;
  TRY(out.index, decode_header(table.bytes(ETHTOOL_A_FEATURES_HEADER)));
  TRY(Bitset changeable, decode_bitset(table.bytes(ETHTOOL_A_FEATURES_HW)));
  TRY(Bitset active, decode_bitset(table.bytes(ETHTOOL_A_FEATURES_ACTIVE)));
  out.facts = Features{std::move(changeable.value), std::move(active.value)};
  return out;
}

Result<PortFacts> decode_numbers(Kind kind, Bytes attributes) {
  PortFacts out;
  Numbers numbers;
  Bytes header;
  AttributeWalk walk(attributes);
  for (netlink::Attribute one; walk.next(one);) {
    if (one.type == kHeader) header = one.payload;
    const NumberAttribute* const found = number_of(kind, one.type);
    if (found == nullptr) continue;
    if (one.payload.size() != found->bytes)
      return Error{ErrorKind::transient,
                   "netlink: a number of a " + std::string(facts_of(kind).words) + " reply has a wrong size"};
    numbers[one.type] = found->bytes == 1 ? netlink::read_as<std::uint8_t>(one.payload).value_or(0)
                                          : netlink::read_as<std::uint32_t>(one.payload).value_or(0);
  }
  TRY_DONE(walk.finish(facts_of(kind).words));
  TRY(out.index, decode_header(header));
  out.facts = std::move(numbers);
  return out;
}

}  // namespace

KindFacts facts_of(Kind kind) {
  switch (kind) {
    case Kind::link: return {"link modes", ETHTOOL_MSG_LINKMODES_GET, ETHTOOL_MSG_LINKMODES_SET};
    case Kind::fec: return {"FEC", ETHTOOL_MSG_FEC_GET, ETHTOOL_MSG_FEC_SET};
    case Kind::rings: return {"rings", ETHTOOL_MSG_RINGS_GET, ETHTOOL_MSG_RINGS_SET};
    case Kind::channels: return {"channels", ETHTOOL_MSG_CHANNELS_GET, ETHTOOL_MSG_CHANNELS_SET};
    case Kind::coalescing: return {"coalescing", ETHTOOL_MSG_COALESCE_GET, ETHTOOL_MSG_COALESCE_SET};
    case Kind::pause: return {"pause", ETHTOOL_MSG_PAUSE_GET, ETHTOOL_MSG_PAUSE_SET};
    case Kind::features: break;
  }
  return {"features", ETHTOOL_MSG_FEATURES_GET, ETHTOOL_MSG_FEATURES_SET};
}

bool bit(const Bits& bits, std::size_t at) {
  return at / 32 < bits.size() && ((bits[at / 32] >> (at % 32)) & 1U) != 0;
}

Result<PortFacts> decode(Kind kind, Bytes payload) {
  const Bytes attributes = netlink::after_genl(payload);
  switch (kind) {
    case Kind::link: return decode_link(attributes);
    case Kind::fec: return decode_fec(attributes);
    case Kind::features: return decode_features(attributes);
    default: return decode_numbers(kind, attributes);
  }
}

// Nested: STRINGSETS / STRINGSET / STRINGS / STRING / (INDEX, VALUE).
Result<std::vector<std::string>> decode_names(Bytes payload) {
  constexpr std::size_t kNamesMax = 1024;  // Linux 6.1 has 64 features and 102 link modes
  std::vector<std::string> out;
  TRY(const auto table,
      AttributeTable<ETHTOOL_A_STRSET_MAX + 1>::parse(netlink::after_genl(payload), "string set"));
  AttributeWalk sets(table.bytes(ETHTOOL_A_STRSET_STRINGSETS));
  for (netlink::Attribute set; sets.next(set);) {
    TRY(const auto inside, AttributeTable<ETHTOOL_A_STRINGSET_MAX + 1>::parse(set.payload, "string set"));
    AttributeWalk strings(inside.bytes(ETHTOOL_A_STRINGSET_STRINGS));
    for (netlink::Attribute string; strings.next(string);) {
      TRY(auto one, AttributeTable<ETHTOOL_A_STRING_MAX + 1>::parse(string.payload, "string"));
      const std::size_t at = one.number<std::uint32_t>(ETHTOOL_A_STRING_INDEX).value_or(0);
      TRY_DONE(one.sound("string"));
      if (at >= kNamesMax) return Error{ErrorKind::transient, "netlink: a name with an absurd number"};
      if (out.size() <= at) out.resize(at + 1);
      out[at] = one.text(ETHTOOL_A_STRING_VALUE);
    }
    TRY_DONE(strings.finish("string set"));
  }
  TRY_DONE(sets.finish("string set"));
  return out;
}

Request request(std::uint16_t family, std::uint8_t command, std::uint16_t flags, std::uint32_t index,
                std::uint32_t header_flags) {
  Request out(family, flags);
  out.header(genlmsghdr{command, ETHTOOL_GENL_VERSION, 0});
  const std::size_t nest = out.open_nest(kHeader);
  if (index != 0) out.put_number(ETHTOOL_A_HEADER_DEV_INDEX, index);
  if (header_flags != 0) out.put_number(ETHTOOL_A_HEADER_FLAGS, header_flags);
  out.close_nest(nest);
  return out;
}

Request names_request(std::uint16_t family, std::uint32_t set) {
  Request out = request(family, ETHTOOL_MSG_STRSET_GET, NLM_F_ACK, 0);
  const std::size_t sets = out.open_nest(ETHTOOL_A_STRSET_STRINGSETS);
  const std::size_t one = out.open_nest(ETHTOOL_A_STRINGSETS_STRINGSET);
  out.put_number(ETHTOOL_A_STRINGSET_ID, set);
  out.close_nest(one);
  out.close_nest(sets);
  return out;
}

Request get_request(std::uint16_t family, Kind kind, std::uint32_t index) {
  const std::uint16_t flags = index == 0 ? NLM_F_DUMP : NLM_F_ACK;
  return request(family, facts_of(kind).get, flags, index, ETHTOOL_FLAG_COMPACT_BITSETS);
}

Request set_request(std::uint16_t family, Kind kind, std::uint32_t index) {
  const std::uint32_t flags = kind == Kind::features ? std::uint32_t{ETHTOOL_FLAG_OMIT_REPLY} : 0U;
  return request(family, facts_of(kind).set, NLM_F_ACK, index, flags);
}

void put_number(Request& request, Kind kind, std::uint16_t attribute, std::uint32_t number) {
  const NumberAttribute* const found = number_of(kind, attribute);
  if (found != nullptr && found->bytes == 1)
    request.put_number(attribute, static_cast<std::uint8_t>(number));
  else
    request.put_number(attribute, number);
}

bool put_fec(Request& request, std::string_view word) {
  const auto* const mode = std::ranges::find(kFecWords, word, &FecWord::word);
  const bool automatic = word == "auto";
  if ((mode == std::end(kFecWords) || word == "llrs") && !automatic) return false;
  const std::size_t modes = request.open_nest(ETHTOOL_A_FEC_MODES);
  request.put_flag(ETHTOOL_A_BITSET_NOMASK);  // the list is complete
  const std::size_t bits = request.open_nest(ETHTOOL_A_BITSET_BITS);
  if (!automatic) {
    const std::size_t one = request.open_nest(ETHTOOL_A_BITSET_BITS_BIT);
    request.put_number(ETHTOOL_A_BITSET_BIT_INDEX, mode->bit);
    request.close_nest(one);
  }
  request.close_nest(bits);
  request.close_nest(modes);
  request.put_number(ETHTOOL_A_FEC_AUTO, std::uint8_t{automatic});
  return true;
}

void put_features(Request& request, const std::map<std::string, bool>& by_name) {
  const std::size_t wanted = request.open_nest(ETHTOOL_A_FEATURES_WANTED);
  const std::size_t bits = request.open_nest(ETHTOOL_A_BITSET_BITS);
  for (const auto& [name, on] : by_name) {
    const std::size_t one = request.open_nest(ETHTOOL_A_BITSET_BITS_BIT);
    request.put_text(ETHTOOL_A_BITSET_BIT_NAME, name);
    if (on) request.put_flag(ETHTOOL_A_BITSET_BIT_VALUE);
    request.close_nest(one);
  }
  request.close_nest(bits);
  request.close_nest(wanted);
}

std::string words_of(const Fec& fec) {
  if (fec.automatic) return "auto";
  std::string out;
  for (const FecWord& one : kFecWords)
    if (bit(fec.modes, one.bit)) out += (out.empty() ? "" : " ") + std::string(one.word);
  return out;
}

std::string_view fec_word(std::uint32_t bit) {
  const auto* const found = std::ranges::find(kFecWords, bit, &FecWord::bit);
  return found == std::end(kFecWords) ? std::string_view() : found->word;
}

std::uint32_t speed_of(std::string_view link_mode) {
  std::uint32_t out = 0;
  const char* const end = link_mode.data() + link_mode.size();
  const auto [rest, failed] = std::from_chars(link_mode.data(), end, out);
  return failed == std::errc() && std::string_view(rest, end).starts_with("base") ? out : 0;
}

std::vector<std::uint32_t> speeds_of(const Bits& modes, const std::vector<std::string>& names) {
  std::vector<std::uint32_t> out;
  for (std::size_t at = 0; at < names.size(); ++at)
    if (const std::uint32_t speed = speed_of(names[at]); speed != 0 && bit(modes, at)) out.push_back(speed);
  std::ranges::sort(out);
  const auto repeated = std::ranges::unique(out);
  out.erase(repeated.begin(), repeated.end());
  return out;
}

}  // namespace lockstep::ethtool
