#include "drivers/linux/ethtool.hpp"

#include <linux/ethtool.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "drivers/linux/generic_netlink.hpp"

namespace lockstep {
namespace {

using netlink::after_genl;
using netlink::Answer;
using netlink::AttributeTable;
using netlink::AttributeWalk;
using netlink::Bytes;
using netlink::Message;
using netlink::Request;

// As ethtool(8)'s legacy flags group them (its features.c): tso is every "tx-tcp*-segmentation".
bool belongs(std::string_view feature, std::string_view group) {
  if (group == "gro") return feature == "rx-gro";
  if (group == "gso") return feature == "tx-generic-segmentation";
  return group == "tso" && feature.starts_with("tx-tcp") && feature.ends_with("-segmentation");
}

// What a group is told by. Not tx-tcp-accecn-segmentation and the like: Linux 6.18 leaves that one on when a
// port can segment nothing (netdev_fix_features drops the older ones only).
bool tells(std::string_view feature, std::string_view group) {
  if (group != "tso") return belongs(feature, group);
  return feature == "tx-tcp-segmentation" || feature == "tx-tcp6-segmentation";
}

bool is_group(std::string_view name) {
  return std::find(std::begin(kOffloads), std::end(kOffloads), name) != std::end(kOffloads);
}

bool bit(const std::vector<std::uint32_t>& words, std::size_t at) {
  return at / 32 < words.size() && ((words[at / 32] >> (at % 32)) & 1U) != 0;
}

std::string with_index(std::string_view what, std::uint32_t index) {
  return std::string(what) + " of interface " + std::to_string(index);
}

}  // namespace

Result<ActiveFeatures> decode_features(Bytes payload) {
  TRY(const auto table,
      AttributeTable<ETHTOOL_A_FEATURES_MAX + 1>::parse(after_genl(payload), "features reply"));
  TRY(auto header, AttributeTable<ETHTOOL_A_HEADER_MAX + 1>::parse(table.bytes(ETHTOOL_A_FEATURES_HEADER),
                                                                   "features header"));
  TRY(const auto bitset, AttributeTable<ETHTOOL_A_BITSET_MAX + 1>::parse(
                             table.bytes(ETHTOOL_A_FEATURES_ACTIVE), "features bitset"));
  ActiveFeatures out;
  out.index = header.number<std::uint32_t>(ETHTOOL_A_HEADER_DEV_INDEX).value_or(0);
  Bytes words = bitset.bytes(ETHTOOL_A_BITSET_VALUE);
  for (; words.size() >= sizeof(std::uint32_t); words = words.subspan(sizeof(std::uint32_t)))
    out.bits.push_back(netlink::read_as<std::uint32_t>(words).value_or(0));
  TRY_DONE(header.sound("features header"));
  if (out.index == 0) return Error{ErrorKind::transient, "netlink: a features reply without an interface"};
  return out;
}

// Nested: STRINGSETS / STRINGSET / STRINGS / STRING / (INDEX, VALUE).
Result<std::vector<std::string>> decode_feature_names(Bytes payload) {
  constexpr std::size_t kNamesMax = 1024;  // the kernel has 64 or so (netdev_features.h: at most 64 bits yet)
  std::vector<std::string> out;
  TRY(const auto table, AttributeTable<ETHTOOL_A_STRSET_MAX + 1>::parse(after_genl(payload), "string set"));
  AttributeWalk sets(table.bytes(ETHTOOL_A_STRSET_STRINGSETS));
  for (netlink::Attribute set; sets.next(set);) {
    TRY(const auto inside, AttributeTable<ETHTOOL_A_STRINGSET_MAX + 1>::parse(set.payload, "string set"));
    AttributeWalk strings(inside.bytes(ETHTOOL_A_STRINGSET_STRINGS));
    for (netlink::Attribute string; strings.next(string);) {
      TRY(auto one, AttributeTable<ETHTOOL_A_STRING_MAX + 1>::parse(string.payload, "string"));
      const std::size_t at = one.number<std::uint32_t>(ETHTOOL_A_STRING_INDEX).value_or(0);
      TRY_DONE(one.sound("string"));
      if (at >= kNamesMax) return Error{ErrorKind::transient, "netlink: a feature with an absurd number"};
      if (out.size() <= at) out.resize(at + 1);
      out[at] = one.text(ETHTOOL_A_STRING_VALUE);
    }
    TRY_DONE(strings.finish("string set"));
  }
  TRY_DONE(sets.finish("string set"));
  return out;
}

Result<Ethtool> Ethtool::open(const Call& call) {
  TRY(auto socket, netlink::Socket::open(NETLINK_GENERIC));
  TRY(const std::uint16_t family, netlink::resolve_family(socket, ETHTOOL_GENL_NAME, call));
  return Ethtool(std::move(socket), family);
}

// Every request's first attribute is its header, number 1 (ETHTOOL_A_*_HEADER).
Request Ethtool::request(std::uint8_t command, std::uint16_t flags, std::uint32_t index,
                         std::uint32_t header_flags) const {
  Request out(family_, flags);
  out.header(genlmsghdr{command, ETHTOOL_GENL_VERSION, 0});
  const std::size_t nest = out.open_nest(ETHTOOL_A_FEATURES_HEADER);
  if (index != 0) out.put_number(ETHTOOL_A_HEADER_DEV_INDEX, index);
  if (header_flags != 0) out.put_number(ETHTOOL_A_HEADER_FLAGS, header_flags);
  out.close_nest(nest);
  return out;
}

Result<std::vector<std::string>> Ethtool::feature_names(const Call& call) {
  Request ask = request(ETHTOOL_MSG_STRSET_GET, NLM_F_ACK, 0, 0);
  const std::size_t sets = ask.open_nest(ETHTOOL_A_STRSET_STRINGSETS);
  const std::size_t set = ask.open_nest(ETHTOOL_A_STRINGSETS_STRINGSET);
  ask.put_number(ETHTOOL_A_STRINGSET_ID, std::uint32_t{ETH_SS_FEATURES});
  ask.close_nest(set);
  ask.close_nest(sets);
  std::vector<std::string> out;
  TRY(const Answer answer, socket_.ask(ask, call, [&](const Message& message) -> Result<Done> {
    TRY(out, decode_feature_names(message.payload));
    return Done{};
  }));
  if (answer.code != 0) return to_error(answer, "the names of offload features");
  return out;
}

Result<std::map<std::uint32_t, Offloads>> Ethtool::offloads(const Call& call) {
  TRY(const auto names, feature_names(call));
  std::map<std::uint32_t, Offloads> out;
  Request ask = request(ETHTOOL_MSG_FEATURES_GET, NLM_F_DUMP, 0, ETHTOOL_FLAG_COMPACT_BITSETS);
  TRY_DONE(socket_.dump(
      ask, call,
      [&](const Message& message) -> Result<Done> {
        TRY(const auto active, decode_features(message.payload));
        Offloads& of = out[active.index];
        for (const std::string_view group : kOffloads) {
          bool on = false;
          for (std::size_t at = 0; at < names.size(); ++at)
            if (bit(active.bits, at) && tells(names[at], group)) on = true;
          of.insert_or_assign(std::string(group), on);
        }
        return Done{};
      },
      [&] { out.clear(); }));
  return out;
}

Result<Done> Ethtool::set_offload(std::uint32_t index, std::string_view name, bool on, const Call& call) {
  if (!is_group(name))
    return Error{ErrorKind::invalid_spec, "no offload is called '" + std::string(name) + "' (gro, gso, tso)"};
  TRY(const auto known, feature_names(call));
  Request ask = request(ETHTOOL_MSG_FEATURES_SET, NLM_F_ACK, index, ETHTOOL_FLAG_OMIT_REPLY);
  const std::size_t wanted = ask.open_nest(ETHTOOL_A_FEATURES_WANTED);
  const std::size_t bits = ask.open_nest(ETHTOOL_A_BITSET_BITS);
  for (const std::string& feature : known) {
    if (!belongs(feature, name)) continue;
    const std::size_t one = ask.open_nest(ETHTOOL_A_BITSET_BITS_BIT);
    ask.put_text(ETHTOOL_A_BITSET_BIT_NAME, feature);
    if (on) ask.put_flag(ETHTOOL_A_BITSET_BIT_VALUE);
    ask.close_nest(one);
  }
  ask.close_nest(bits);
  ask.close_nest(wanted);
  TRY(const Answer answer, socket_.change(ask, call));
  if (answer.code != 0) return to_error(answer, with_index(name, index));
  TRY(const auto now, offloads(call));
  const auto device = now.find(index);
  if (device == now.end()) return Error{ErrorKind::transient, with_index(name, index) + ": it is gone"};
  if (device->second.at(std::string(name)) != on)
    return Error{ErrorKind::refused,
                 std::string(name) + (on ? " on" : " off") +
                     ": the kernel acknowledged it and left it as it was (another offload or "
                     "the device forbids it)"};
  return Done{};
}

Result<std::map<std::uint32_t, std::uint32_t>> Ethtool::speeds(const Call& call) {
  std::map<std::uint32_t, std::uint32_t> out;
  Request ask = request(ETHTOOL_MSG_LINKMODES_GET, NLM_F_DUMP, 0, ETHTOOL_FLAG_COMPACT_BITSETS);
  TRY_DONE(socket_.dump(
      ask, call,
      [&](const Message& message) -> Result<Done> {
        TRY(auto table, AttributeTable<ETHTOOL_A_LINKMODES_MAX + 1>::parse(after_genl(message.payload),
                                                                           "link modes reply"));
        TRY(auto header, AttributeTable<ETHTOOL_A_HEADER_MAX + 1>::parse(
                             table.bytes(ETHTOOL_A_LINKMODES_HEADER), "link modes header"));
        const auto index = header.number<std::uint32_t>(ETHTOOL_A_HEADER_DEV_INDEX);
        const auto speed = table.number<std::uint32_t>(ETHTOOL_A_LINKMODES_SPEED);
        if (index && speed && *speed != 0 && *speed != static_cast<std::uint32_t>(SPEED_UNKNOWN))
          out.insert_or_assign(*index, *speed);
        return table.sound("link modes reply");
      },
      [&] { out.clear(); }));
  return out;
}

Result<std::optional<std::pair<std::uint32_t, bool>>> decode_pause(Bytes payload) {
  TRY(auto table, AttributeTable<ETHTOOL_A_PAUSE_MAX + 1>::parse(after_genl(payload), "pause reply"));
  TRY(auto header,
      AttributeTable<ETHTOOL_A_HEADER_MAX + 1>::parse(table.bytes(ETHTOOL_A_PAUSE_HEADER), "pause header"));
  const auto index = header.number<std::uint32_t>(ETHTOOL_A_HEADER_DEV_INDEX);
  const auto rx = table.number<std::uint8_t>(ETHTOOL_A_PAUSE_RX);
  const auto tx = table.number<std::uint8_t>(ETHTOOL_A_PAUSE_TX);
  TRY_DONE(header.sound("pause header"));
  TRY_DONE(table.sound("pause reply"));
  if (!index || !rx || !tx) return std::optional<std::pair<std::uint32_t, bool>>{};
  return std::optional(std::pair(*index, *rx != 0 || *tx != 0));
}

Result<std::map<std::uint32_t, bool>> Ethtool::pauses(const Call& call) {
  std::map<std::uint32_t, bool> out;
  Request ask = request(ETHTOOL_MSG_PAUSE_GET, NLM_F_DUMP, 0, 0);
  TRY_DONE(socket_.dump(
      ask, call,
      [&](const Message& message) -> Result<Done> {
        TRY(const auto pause, decode_pause(message.payload));
        if (pause) out.insert(*pause);
        return Done{};
      },
      [&] { out.clear(); }));
  return out;
}

Result<Done> Ethtool::set_pause(std::uint32_t index, bool on, const Call& call) {
  Request ask = request(ETHTOOL_MSG_PAUSE_SET, NLM_F_ACK, index, 0);
  const std::uint8_t wanted = on ? 1 : 0;
  ask.put_number(ETHTOOL_A_PAUSE_RX, wanted).put_number(ETHTOOL_A_PAUSE_TX, wanted);
  TRY(const Answer answer, socket_.change(ask, call));
  if (answer.code != 0) return to_error(answer, "ethtool pause set");
  return Done{};
}

Result<Answer> Ethtool::probe(std::uint8_t command, std::uint32_t index, const Call& call) {
  Request ask = request(command, NLM_F_ACK, index, 0);
  return socket_.ask(ask, call, [](const Message&) -> Result<Done> { return Done{}; });
}

}  // namespace lockstep
