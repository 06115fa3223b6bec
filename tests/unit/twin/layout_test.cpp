#include "reconciler/twin/layout.hpp"

#include <gtest/gtest.h>

#include "reconciler/twin/places.hpp"

namespace lockstep {
namespace {

TwinLayout pair_of_hosts() {
  return {"pod1",
          {{"gpu1", TwinRole::host, false}, {"gpu2", TwinRole::host, false}},
          {{"gpu1", "rail0", "gpu2", "rail0"}}};
}

TEST(TwinLayout, AcceptsASimplePair) { EXPECT_TRUE(validate(pair_of_hosts())); }

TEST(TwinLayout, RefusesAPortCabledTwice) {
  TwinLayout layout = pair_of_hosts();
  layout.cables.push_back({"gpu1", "rail1", "gpu2", "rail0"});
  const auto valid = validate(layout);
  ASSERT_FALSE(valid);
  EXPECT_EQ(valid.error().what, "twin: port gpu2:rail0 is cabled twice");
}

TEST(TwinLayout, RefusesACableToNowhere) {
  TwinLayout layout = pair_of_hosts();
  layout.cables.push_back({"gpu1", "rail1", "gpu3", "rail0"});
  const auto valid = validate(layout);
  ASSERT_FALSE(valid);
  EXPECT_EQ(valid.error().what, "twin: a cable ends at gpu3, which is no device");
}

TEST(TwinLayout, RefusesNamesThatWouldEscapeTheirFolder) {
  for (const char* name : {"", "..", "a/b", ".hidden", "a b", "-x"}) {
    TwinLayout layout = pair_of_hosts();
    layout.devices.push_back({name, TwinRole::host, false});
    EXPECT_FALSE(validate(layout)) << name;
  }
  for (const char* cluster : {"", "a-b", "a/b", "..", "abcdefghijklmnopqrstuvwxyz"})
    EXPECT_FALSE(validate_cluster_id(cluster)) << cluster;
}

TEST(TwinLayout, RefusesReservedAndUnprintablePorts) {
  for (const char* port : {"", "lo", "all", "default", "..", "swp 1", "swp\n"}) {
    TwinLayout layout = pair_of_hosts();
    layout.cables.push_back({"gpu1", port, "gpu2", "x"});
    EXPECT_FALSE(validate(layout)) << port;
  }
  TwinLayout layout = pair_of_hosts();
  layout.cables.push_back({"gpu1", std::string(128, 'x'), "gpu2", "x"});
  EXPECT_FALSE(validate(layout));
}

TEST(TwinLayout, KeepsPortNamesThatTheKernelAcceptsAndShortensOthers) {
  EXPECT_EQ(kernel_port_name("Ethernet504"), "Ethernet504");
  EXPECT_EQ(kernel_port_name("abcdefghijklmno"), "abcdefghijklmno");
  const std::string slashed = kernel_port_name("Ethernet1/1/1");
  const std::string other = kernel_port_name("Ethernet1/11");
  const std::string longer = kernel_port_name("FourHundredGigE1");
  for (const std::string& name : {slashed, other, longer}) {
    EXPECT_LE(name.size(), 15U);
    EXPECT_EQ(name.find('/'), std::string::npos);
  }
  EXPECT_NE(slashed, other);
}

TEST(TwinLayout, RecordRoundTripsAndItsDigestCoversEveryField) {
  const TwinRecord record{
      .layout = pair_of_hosts(), .frr_profile = "datacenter", .name = "pod", .folder = "/srv/pod"};
  const auto back = from_text(to_text(record));
  ASSERT_TRUE(back);
  EXPECT_EQ(to_text(*back), to_text(record));
  std::vector<TwinRecord> changed(5, record);
  changed[0].lldp = false;
  changed[1].layout.devices[1].routing = true;
  changed[2].layout.cables[0].segmentation_offload = false;
  changed[3].layout.devices[0].role = TwinRole::device_switch;
  changed[4].frr_profile = "traditional";
  for (const TwinRecord& one : changed) {
    EXPECT_NE(digest_of(one), digest_of(record));
    EXPECT_EQ(differences(record, one, 8).size(), 2U);
  }
}

TEST(TwinLayout, RecordOfOtherTextIsRefused) {
  for (const char* text : {"", "[]", "{}", "{\"cluster\":3}", "{\"cluster\":\"a\",\"lldp\":true", "null"})
    EXPECT_FALSE(from_text(text)) << text;
}

TEST(TwinLayout, DifferencesAreListedAndBounded) {
  TwinRecord asked{.layout = pair_of_hosts(), .frr_profile = "datacenter"};
  const TwinRecord running = asked;
  for (int i = 0; i < 5; ++i)
    asked.layout.devices.push_back({"leaf" + std::to_string(i), TwinRole::device_switch, true});
  const auto lines = differences(running, asked, 2);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0], "asked for, not running: switch leaf0 (routing)");
  EXPECT_EQ(lines[2], "and 3 more");
  EXPECT_TRUE(differences(running, running, 2).empty());
}

std::vector<std::string> piece_texts(const auto& pieces) {
  std::vector<std::string> out;
  for (const auto& one : pieces) out.push_back(piece_text(one));
  return out;
}

TEST(TwinLayout, AChangeListsWhatIsRemovedAndAddedOnly) {
  TwinLayout has = pair_of_hosts();
  has.devices.push_back({"gpu3", TwinRole::host, false});
  has.cables.push_back({"gpu3", "rail0", "gpu1", "rail1"});
  TwinLayout asked = pair_of_hosts();
  asked.devices.push_back({"leaf0", TwinRole::device_switch, true});
  asked.cables.push_back({"leaf0", "swp1", "gpu1", "rail1"});
  const TwinChange change = change_between(has, has, asked);
  using Words = std::vector<std::string>;
  EXPECT_EQ(piece_texts(change.devices_gone), Words{"host gpu3"});
  EXPECT_EQ(piece_texts(change.cables_gone), Words{"cable gpu1:rail1 -- gpu3:rail0"});
  EXPECT_EQ(piece_texts(change.devices_made), Words{"switch leaf0 (routing)"});
  EXPECT_EQ(piece_texts(change.cables_made), Words{"cable gpu1:rail1 -- leaf0:swp1"});
  // A cable has no direction.
  asked = has;
  std::swap(asked.cables[1].device_a, asked.cables[1].device_b);
  std::swap(asked.cables[1].port_a, asked.cables[1].port_b);
  const TwinChange none = change_between(has, has, asked);
  EXPECT_TRUE(none.devices_gone.empty() && none.cables_gone.empty());
  EXPECT_TRUE(none.devices_made.empty() && none.cables_made.empty());
}

TEST(TwinLayout, LostDevicesAndThoseOfAnotherKindAreRecreatedWithTheirCables) {
  const TwinLayout has = pair_of_hosts();
  TwinLayout asked = has;
  asked.devices[1].routing = true;
  const TwinChange other = change_between(has, has, asked);
  EXPECT_EQ(other.devices_gone.size(), 1U);
  EXPECT_EQ(other.devices_made.size(), 1U);
  EXPECT_EQ(other.cables_gone.size(), 1U);
  EXPECT_EQ(other.cables_made.size(), 1U);
  const TwinChange lost = change_between(has, TwinLayout{has.cluster, has.devices, {}}, has);
  EXPECT_TRUE(lost.devices_made.empty());
  EXPECT_EQ(lost.cables_made.size(), 1U);
  const TwinChange gone = change_between(has, TwinLayout{has.cluster, {has.devices[0]}, has.cables}, has);
  EXPECT_EQ(piece_texts(gone.devices_made), std::vector<std::string>{"host gpu2"});
  EXPECT_EQ(gone.cables_made.size(), 1U);
}

// Records of an older lockstep have no link rate.
TEST(TwinLayout, ARecordWithoutALinkRateHasTheDefault) {
  TwinRecord record{.layout = pair_of_hosts(), .frr_profile = "datacenter"};
  record.link_rate = 5'000'000'000;
  std::string text = to_text(record);
  EXPECT_EQ(from_text(text)->link_rate, 5'000'000'000U);
  const std::string field = "\"linkRate\":5000000000,";
  ASSERT_NE(text.find(field), std::string::npos) << text;
  text.erase(text.find(field), field.size());
  ASSERT_TRUE(from_text(text));
  EXPECT_EQ(from_text(text)->link_rate, kTwinLinkRate);
}

TEST(TwinLayout, ClusterIdsDifferByFolderAndAreStable) {
  EXPECT_EQ(twin_cluster_id("rail-pod", "/a"), twin_cluster_id("rail-pod", "/a"));
  EXPECT_NE(twin_cluster_id("rail-pod", "/a"), twin_cluster_id("rail-pod", "/b"));
  EXPECT_TRUE(validate_cluster_id(twin_cluster_id("", "/x")));
  EXPECT_TRUE(twin_cluster_id("rail-pod", "/a").starts_with("railpod"));
}

TEST(TwinPlaces, LongestNamesStillFitAUnixSocketPath) {
  const std::string device(48, 'd');
  const std::string cluster(24, 'c');
  ASSERT_TRUE(validate(TwinLayout{cluster, {{device, TwinRole::host, false}}, {}}));
  constexpr std::size_t kSocketPath = 107;  // sun_path is 108 bytes with its NUL, unix(7)
  EXPECT_LE(places(cluster, device).lldpd_socket.size(), kSocketPath);
  EXPECT_LE(places(cluster, device).vty_socket("zebra").size(), kSocketPath);
  EXPECT_LE(twin_places(cluster).control.size(), kSocketPath);
}

}  // namespace
}  // namespace lockstep
