// Conversion of ethtool facts to entries, the changes that a port supports, and the values it took instead.
#include <gtest/gtest.h>
#include <linux/ethtool.h>

#include "drivers/linux/ethtool/map.hpp"

namespace lockstep {
namespace {

using ethtool::Facts;
using ethtool::Kind;

ethtool_map::Names names() {
  ethtool_map::Names out;
  out.features = {"tx-tcp-segmentation", "tx-tcp6-segmentation", "rx-gro", "tx-generic-segmentation",
                  "rx-lro"};
  out.link_modes = {"100000baseCR4/Full", "Autoneg", "200000baseCR4/Full"};
  out.offloads.insert("lro");
  return out;
}
const Facts kRings = ethtool::Numbers{{ETHTOOL_A_RINGS_RX, 1024}, {ETHTOOL_A_RINGS_RX_MAX, 8192}};
const Facts kCoalescing =
    ethtool::Numbers{{ETHTOOL_A_COALESCE_RX_USECS, 8}, {ETHTOOL_A_COALESCE_USE_ADAPTIVE_RX, 1}};
// All are active except LRO, which is fixed.
const Facts kFeatures = ethtool::Features{{0x0F}, {0x0F}};

Facts link(bool autoneg, std::uint32_t speed, std::uint32_t advertised) {
  return ethtool::LinkModes{autoneg, speed, {0x07}, {advertised}};
}

Link port() {
  Link out;
  out.name = "rail0";
  return out;
}

Change change(const std::string& entry, Value want) {
  return {*Path::parse("interface[rail0]/" + entry), {}, want, 0};
}

std::string told(Kind kind, const Facts& facts) {
  std::string out;
  for (const Entry& one : ethtool_map::entries("rail0", kind, facts, names()))
    out += one.path.text().substr(std::string_view("interface[rail0]/").size()) + " " +
           one.value.to_string() + "\n";
  return out;
}

// The refusal, such as "refused: ring[rx] ..."; empty if the change is supported.
std::string refusal(const std::string& entry, Value want, const Facts& facts) {
  const auto checked = ethtool_map::check(change(entry, want), port(), facts, names());
  return checked ? "" : std::string(to_string(checked.error().kind)) + ": " + checked.error().text();
}

std::string difference(const std::string& entry, Value want, const Facts& before, const Facts& after) {
  const auto error = ethtool_map::difference(change(entry, want), before, after, names());
  return error ? error->text() : "";
}

TEST(EthtoolMap, AFailingPortDoesNotHideTheReasonsOfOthers) {
  std::vector<Link> ports(3, port());
  for (std::uint32_t at = 0; at < ports.size(); ++at) {
    ports[at].index = at + 1;
    ports[at].name = "rail" + std::to_string(at);
  }
  const auto why = [](const Link& one, bool has) -> Result<std::string> {
    if (one.index == 2) return Error{ErrorKind::transient, "netlink: cut short"};
    return std::string(has ? "" : "no such thing");
  };
  const FactsByPort all = {{3, kRings}};
  std::string told;
  for (const Incapable& one : ethtool_map::incapable(ports, Kind::rings, all, names(), why)) {
    for (const std::string& key : one.keys) told += key + " ";
    told += one.reason + "\n";
  }
  EXPECT_EQ(told, "rail0 no such thing\nrail2 tx port: ethtool -g reports no tx\n");
}

TEST(EthtoolMap, PortFactsBecomeEntries) {
  EXPECT_EQ(told(Kind::rings, kRings), "ring[rx] 1024\n");
  EXPECT_EQ(told(Kind::coalescing, kCoalescing), "coalescing/adaptive[rx] true\ncoalescing/time[rx] 8\n");
  EXPECT_EQ(told(Kind::link, link(true, 100000, 1)), "autoneg true\nspeed 100000\n");
  EXPECT_EQ(told(Kind::link, ethtool::LinkModes{}), "autoneg false\n") << "a link that is down";
  EXPECT_EQ(told(Kind::features, kFeatures),
            "offload[gro] true\noffload[gso] true\noffload[lro] false\noffload[tso] true\n");
}

TEST(EthtoolMap, RefusesInAdvanceWhatAPortDoesNotSupport) {
  EXPECT_EQ(refusal("ring[rx]", Value::integer(8192), kRings), "");
  EXPECT_EQ(refusal("ring[rx]", Value::integer(8193), kRings),
            "refused: ring[rx] 8193: rail0 takes at most 8192 (ethtool -g rail0)");
  EXPECT_EQ(refusal("ring[tx]", Value::integer(1), kRings), "unsupported: port: ethtool -g reports no tx");
  EXPECT_EQ(refusal("coalescing/time[rx]", Value::integer(-1), kCoalescing),
            "invalid spec: interface[rail0]/coalescing/time[rx] takes a number from 0 to 4294967295");
  EXPECT_EQ(refusal("coalescing/adaptive[rx]", Value{}, kCoalescing),
            "invalid spec: interface[rail0]/coalescing/adaptive[rx] takes true or false, and can't be unset");
  EXPECT_EQ(refusal("speed", Value::integer(200000), link(true, 100000, 1)), "");
  EXPECT_EQ(refusal("speed", Value::integer(400000), link(true, 100000, 1)),
            "refused: speed 400000: rail0 has link modes of 100000, 200000 Mbit/s (ethtool rail0)");
  EXPECT_EQ(refusal("speed", Value::integer(400000), ethtool::LinkModes{}), "") << "a port without modes";
  EXPECT_EQ(refusal("fec", Value::text("llrs"), ethtool::Fec{}),
            "invalid spec: interface[rail0]/fec takes auto, off, rs or baser");
  EXPECT_EQ(refusal("offload[lro]", Value::boolean(false), kFeatures), "") << "fixed as wanted";
  EXPECT_EQ(refusal("offload[lro]", Value::boolean(true), kFeatures),
            "unsupported: offload[lro] on: fixed in this port (ethtool -k rail0)");
  EXPECT_EQ(refusal("offload[warp]", Value::boolean(true), kFeatures),
            "unsupported: this kernel has no feature 'warp' (ethtool -k)");
}

TEST(EthtoolMap, ReportsTheValueThatThePortTookInstead) {
  const Facts rounded = ethtool::Numbers{{ETHTOOL_A_RINGS_RX, 2048}};
  EXPECT_EQ(difference("ring[rx]", Value::integer(2048), kRings, rounded), "");
  EXPECT_EQ(difference("ring[rx]", Value::integer(2000), kRings, rounded),
            "ring[rx] 2000: the port took 2048 (ethtool -g rail0)");
  EXPECT_EQ(difference("offload[tso]", Value::boolean(false), kFeatures, kFeatures),
            "offload[tso] off: the kernel acknowledged it and left it as it was, on: another offload or the "
            "device forbids it (ethtool -k rail0)");
  // The link speed follows later; the advertised modes must change at once.
  const Value fast = Value::integer(200000);
  EXPECT_EQ(difference("speed", fast, link(true, 100000, 5), link(true, 100000, 4)), "");
  EXPECT_EQ(difference("speed", fast, link(true, 100000, 5), link(true, 100000, 5)),
            "speed 200000: the port advertises 100000 200000 (ethtool rail0)");
  EXPECT_EQ(difference("speed", fast, link(false, 100000, 5), link(false, 100000, 5)), "");
  EXPECT_EQ(difference("speed", fast, link(false, 100000, 5), link(false, 50000, 5)),
            "speed 200000: the port took 50000 (ethtool rail0)");
}

TEST(EthtoolMap, ReportsEachEntryThatAPortLacks) {
  std::string all;
  for (const Incapable& one : ethtool_map::lacking(port(), Kind::coalescing, kCoalescing, names()))
    all += std::string(schema_row(one.row).pattern) + " " + one.keys.at(1) + ": " + one.reason + "\n";
  EXPECT_EQ(all,
            "interface[*]/coalescing/adaptive[*] tx: port: ethtool -c reports no adaptive-tx\n"
            "interface[*]/coalescing/time[*] tx: port: ethtool -c reports no tx-usecs\n"
            "interface[*]/coalescing/frames[*] rx: port: ethtool -c reports no rx-frames\n"
            "interface[*]/coalescing/frames[*] tx: port: ethtool -c reports no tx-frames\n");
}

TEST(EthtoolMap, PreviewShowsEthtoolCommands) {
  for (const auto& [entry, want, words] :
       {std::tuple("ring[rx]", Value::integer(4096), "ethtool -G rail0 rx 4096"),
        {"channels[combined]", Value::integer(8), "ethtool -L rail0 combined 8"},
        {"coalescing/adaptive[rx]", Value::boolean(false), "ethtool -C rail0 adaptive-rx off"},
        {"coalescing/frames[tx]", Value::integer(64), "ethtool -C rail0 tx-frames 64"},
        {"fec", Value::text("rs"), "ethtool --set-fec rail0 encoding rs"},
        {"offload[rxhash]", Value::boolean(true), "ethtool -K rail0 rxhash on"},
        {"speed", Value::integer(100000), "ethtool -s rail0 speed 100000"},
        {"autoneg", Value::boolean(true), "ethtool -s rail0 autoneg on"}})
    EXPECT_EQ(ethtool_map::native(change(entry, want)), words);
}

}  // namespace
}  // namespace lockstep
