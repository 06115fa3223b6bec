// The kernel's packet filters, and the walk of their rules.
#include "tests/unit/linux/recorded/nft.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <functional>
#include <random>

#include "drivers/linux/filters/nft_walk.hpp"
#include "tests/fuzz/parsers.hpp"
#include "tests/unit/linux/fuzz.hpp"

namespace lockstep::fuzzing {
namespace {

using nft::Field;
using nft::Packet;

constexpr std::uint8_t kFamily = nft::kInet;
constexpr const char* kTable = "f";
constexpr std::array kSets{"s", "m", "p"};  // the sets of recorded/nft.hpp, in the order of their messages

nft::Ruleset rules_of(netlink::Bytes bytes) {
  nft::Ruleset out;
  std::size_t set = 0;
  netlink::MessageWalk walk(bytes);
  for (netlink::Message message; walk.next(message);) {
    switch (message.type) {
      case NFT_MSG_NEWCHAIN:
        if (const auto chain = nft::decode_chain(message.payload); chain && *chain)
          out.chains.try_emplace({kFamily, kTable, (*chain)->name}, **chain);
        break;
      case NFT_MSG_NEWRULE:
        if (const auto rule = nft::decode_rule(message.payload); rule && *rule)
          if (const auto chain = out.chains.find((*rule)->chain); chain != out.chains.end())
            chain->second.rules.push_back((*rule)->rule);
        break;
      default:
        if (auto elements = nft::decode_elements(message.payload); elements && !elements->empty()) {
          std::ranges::sort(*elements, {}, &nft::Element::key);
          const char* const name = kSets.at(set++ % kSets.size());
          out.sets.insert_or_assign({kFamily, kTable, name}, nft::Set{set == 1, true, *std::move(elements)});
        }
    }
  }
  (void)walk.finish();
  for (auto& [name, chain] : out.chains) {
    chain.family = kFamily;
    chain.table = kTable;
  }
  return out;
}

// A packet of which only the protocols and the interfaces are known.
Packet packet_of(bool v6, std::uint8_t protocol) {
  Packet out;
  out.v6 = v6;
  out.protocol = protocol;
  out.network = Field::unknown(v6 ? 40 : 20);
  out.transport = Field::unknown(protocol == IPPROTO_UDP ? 8 : 20);
  out.in = {1, "rail0"};
  out.out = {2, "up0"};
  return out;
}

void choose(Field& field, std::mt19937& random) {
  constexpr std::array kLikely{std::byte{0}, std::byte{10}, std::byte{64}, std::byte{1}, std::byte{6}};
  for (std::byte& one : field.value)
    one = random() % 2 == 0 ? kLikely.at(random() % kLikely.size()) : static_cast<std::byte>(random());
  std::ranges::fill(field.known, std::byte{0xFF});
}

constexpr const char* kTooMany = "more rules than are followed";

}  // namespace

void parse_nft(std::string_view input) {
  const nft::Ruleset rules = rules_of(std::as_bytes(std::span(input)));
  std::mt19937 random(static_cast<std::uint32_t>(std::hash<std::string_view>{}(input)));
  for (const auto& [name, chain] : rules.chains)
    for (const bool v6 : {false, true})
      for (const auto protocol : {std::uint8_t{IPPROTO_UDP}, std::uint8_t{IPPROTO_TCP}}) {
        Packet any = packet_of(v6, protocol);
        Packet one = any;
        choose(one.network, random);
        choose(one.transport, random);
        const std::set<std::string> of_any = nft::taken_by(rules, chain, any);
        if (of_any.contains(kTooMany)) continue;
        must(std::ranges::includes(of_any, nft::taken_by(rules, chain, one)),
             "what takes a packet is named for those of which less is known");
      }
}

std::vector<std::string> seeds_of_nft() {
  std::string all;
  for (const recorded::nft::Message& one : recorded::nft::kMessages) {
    const Buffer payload = bytes_of(std::string(one.hex));
    const auto length = static_cast<std::uint32_t>(NLMSG_HDRLEN + payload.size());
    const nlmsghdr header{length, static_cast<std::uint16_t>(one.type), 0, 1, 0};
    all.append(reinterpret_cast<const char*>(&header), sizeof header);
    all.append(reinterpret_cast<const char*>(payload.data()), payload.size());
    all.append(NLMSG_ALIGN(length) - length, '\0');
  }
  return {all};
}

}  // namespace lockstep::fuzzing
