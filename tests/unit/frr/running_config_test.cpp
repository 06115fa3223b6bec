#include "drivers/frr/running_config.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "drivers/frr/map.hpp"
#include "drivers/frr/remedy.hpp"
#include "drivers/frr/script.hpp"
#include "drivers/frr/speaker.hpp"
#include "specs/model/schema_rows.hpp"
#include "tests/unit/frr/recorded.hpp"

namespace lockstep::frr {
namespace {

RunningConfig parsed(const std::string& text) {
  auto config = parse_running_config(text);
  EXPECT_TRUE(config) << config.error().text();
  return config ? *config : RunningConfig{};
}

TEST(RunningConfig, ReadsWhatItPrints) {
  for (const char* name : {"bgpd-traditional.txt", "bgpd-datacenter.txt", "bfdd.txt", "zebra.txt"}) {
    const RunningConfig once = parsed(recorded(name));
    EXPECT_EQ(parsed(print(once)), once) << name;
  }
}

TEST(RunningConfig, KeepsForeignLinesVerbatim) {
  const RunningConfig config = parsed(recorded("bgpd-datacenter.txt"));
  EXPECT_NE(config.find("ip prefix-list hand seq 5 permit 10.0.0.0/8 le 32"), nullptr);
  const ConfigLine* const map = config.find("route-map RM permit 10");
  ASSERT_NE(map, nullptr);
  ASSERT_EQ(map->children.size(), 1U);
  EXPECT_EQ(map->children[0].text, "match ip address prefix-list hand");
}

TEST(RunningConfig, KeepsABlockThatIsEmpty) {
  const RunningConfig config = parsed(recorded("bfdd.txt"));
  const ConfigLine* const bfd = config.find("bfd");
  ASSERT_NE(bfd, nullptr);
  ASSERT_EQ(bfd->children.size(), 2U);
  EXPECT_TRUE(bfd->children[0].is_block());
  EXPECT_NE(print(config).find(" profile lockstep\n exit\n"), std::string::npos);
}

TEST(RunningConfig, JoinsTheBlocksOfSeveralDaemons) {
  RunningConfig all =
      parsed("frr version 8.4.4\nip prefix-list a seq 5 permit any\ninterface up0\n description x\nexit\n");
  merge(
      all,
      parsed("frr version 8.4.4\nip prefix-list a seq 5 permit any\ninterface up0\n ip ospf area 0\nexit\n"));
  EXPECT_EQ(
      print(all),
      "frr version 8.4.4\n!\nip prefix-list a seq 5 permit any\ninterface up0\n description x\n ip ospf area "
      "0\nexit\n!\n");
}

TEST(RunningConfig, RefusesTextThatIsNotAConfiguration) {
  EXPECT_FALSE(parse_running_config(""));
  EXPECT_FALSE(parse_running_config("% Unknown command\n"));
  EXPECT_FALSE(parse_running_config("frr version 8.4.4\n  indented under nothing\n"));
  std::string deep = "frr version 8.4.4\n";
  for (std::size_t depth = 0; depth < 100; ++depth) deep += std::string(depth, ' ') + "x\n";
  EXPECT_FALSE(parse_running_config(deep));
}

TEST(RunningConfig, SurvivesEveryTruncation) {
  const std::string whole = recorded("bgpd-datacenter.txt");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto config = parse_running_config(std::string_view(whole).substr(0, size));
    if (config) {
      EXPECT_EQ(config->version.empty(), false);
    }
  }
}

State state_of(const std::string& bgpd, const std::string& bfdd) {
  State state;
  state.bgp.emplace().config = parsed(bgpd);
  state.bgp->max_paths_default = 256;
  state.bgp->speaker = speaker_of(state.bgp->config, 256);
  state.bfd.emplace().config = parsed(bfdd);
  state.bfd->profiles = bfd_profiles_of(state.bfd->config);
  return state;
}

std::string entries(const State& state) {
  TreeBuilder tree;
  entries_of(state, Scope{}, tree);
  return tree.build().to_string();
}

TEST(Speaker, IsReadFromATraditionalConfig) {
  EXPECT_EQ(entries(state_of(recorded("bgpd-traditional.txt"), recorded("bfdd.txt"))),
            recorded("entries-traditional.txt"));
}

// Peer groups, manually added lines, a numbered neighbour, another defaults profile.
TEST(Speaker, IsReadFromADatacenterConfig) {
  EXPECT_EQ(entries(state_of(recorded("bgpd-datacenter.txt"), recorded("bfdd.txt"))),
            recorded("entries-datacenter.txt"));
}

TEST(Speaker, KnowsWhatMissingLinesMean) {
  const std::string lines = "router bgp 65001\n neighbor up0 interface remote-as external\nexit\n";
  const auto traditional = speaker_of(parsed("frr version 8.4.4\nfrr defaults traditional\n" + lines), 256);
  const auto datacenter = speaker_of(parsed("frr version 8.4.4\nfrr defaults datacenter\n" + lines), 256);
  ASSERT_TRUE(traditional && datacenter);
  EXPECT_EQ(traditional->neighbors.at(0).timers, (Timers{60, 180}));
  EXPECT_EQ(datacenter->neighbors.at(0).timers, (Timers{3, 9}));
  EXPECT_TRUE(traditional->requires_policy);
  EXPECT_FALSE(datacenter->requires_policy);
  EXPECT_TRUE(traditional->neighbors.at(0).activated);
  EXPECT_EQ(traditional->max_paths, 256);
}

TEST(Speaker, IgnoresTheSpeakerOfAVrf) {
  EXPECT_FALSE(
      speaker_of(parsed("frr version 8.4.4\nrouter bgp 65001 vrf red\n bgp router-id 1.1.1.1\nexit\n"), 64));
}

TEST(Speaker, ReadsTheGroupSizeThatBgpdWasBuiltWith) {
  EXPECT_EQ(max_paths_built_in(recorded("version.txt")), 256);
  EXPECT_EQ(max_paths_built_in("FRRouting 9\n"), 16);
}

TEST(Version, IsWhatFrrSaysOfItself) {
  EXPECT_EQ(version_in(recorded("version.txt")), "8.4.4");
  EXPECT_EQ(version_in("FRRouting 10.1-dev\n"), "10.1-dev");
  EXPECT_EQ(version_in("Quagga 1.2\n"), "");
  EXPECT_EQ(version_in(""), "");
}

TEST(Sessions, AreReadFromJson) {
  const auto sessions = bgp_sessions_of(recorded("bgp-summary.json"));
  ASSERT_TRUE(sessions);
  EXPECT_EQ(*sessions, (std::map<std::string, std::string>{{"up0", "established"}, {"up1", "established"}}));
  const auto bfd = bfd_sessions_of(recorded("bfd-peers.json"));
  ASSERT_TRUE(bfd);
  EXPECT_EQ(bfd->size(), 2U);
}

TEST(Sessions, AreNotEstablishedWhenEveryRouteIsDiscarded) {
  const auto sessions = bgp_sessions_of(recorded("bgp-summary-policy.json"));
  ASSERT_TRUE(sessions);
  EXPECT_EQ(sessions->at("up0"), kSessionNoPolicy);
}

TEST(Sessions, UseTheNegotiatedTimers) {
  const auto timers = bgp_timers_of(recorded("bgp-neighbors.json"));
  ASSERT_TRUE(timers);
  EXPECT_EQ(*timers, (std::map<std::string, Timers>{{"up0", {3, 9}}, {"up1", {3, 9}}}));
  State state = state_of(recorded("bgpd-datacenter.txt"), recorded("bfdd.txt"));  // proposes 1 and 3 s
  state.bgp->in_use["up1"] = {3, 9};
  TreeBuilder tree;
  entries_of(state, Scope{}, tree);
  const Tree have = tree.build();
  const auto number = [&](const char* entry) { return have.value(*Path::parse(entry)).as_integer(); };
  EXPECT_EQ(number("bgp/neighbor[up1]/hold"), 3);
  EXPECT_EQ(number("bgp/neighbor[up1]/hold-in-use"), 9);
  EXPECT_EQ(number("bgp/neighbor[up1]/keepalive-in-use"), 3);
  EXPECT_EQ(number("bgp/neighbor[up0]/hold-in-use"), 3) << "not up: with what it proposes";
  EXPECT_EQ(agreed_alone({60, 9}), (Timers{3, 9})) << "bgpd takes a third of the hold time at most";
  EXPECT_EQ(agreed_alone({0, 9}), (Timers{3, 9}));
}

TEST(Sessions, RefuseWhatIsNotJson) {
  EXPECT_FALSE(bgp_sessions_of("{\"ipv4Unicast\":"));
  EXPECT_FALSE(bgp_timers_of("{\"up0\":"));
  ASSERT_TRUE(
      bgp_timers_of("{\"up0\":{\"bgpState\":\"Established\",\"bgpTimerHoldTimeMsecs\":\"9\"},\"up1\":1}"));
  EXPECT_FALSE(bfd_sessions_of("[{"));
  ASSERT_TRUE(bgp_sessions_of("% No BGP neighbors found\n"));
  ASSERT_TRUE(bgp_sessions_of("{\"ipv4Unicast\":{\"peers\":[1]}}"));
}

TEST(RouteView, ReportsTheNextHopsThatFrrCallsInstalled) {
  const auto view = route_view_of(recorded("route-ecmp.json"), "10.99.0.1/32");
  ASSERT_TRUE(view);
  EXPECT_TRUE(view->installed);
  EXPECT_EQ(view->protocol, "bgp");
  EXPECT_EQ(view->interfaces, (std::vector<std::string>{"up0", "up1"}));
}

// Replaces every value of a recorded answer, in turn, by values of every other type.
template <class Decode>
void of_wrong_types(const std::string& text, Decode decode) {
  using Json = nlohmann::json;
  const Json whole = Json::parse(text);
  const Json flat = whole.flatten();
  for (const auto& [pointer, value] : flat.items())
    for (const Json& other : {Json(), Json(true), Json("word"), Json::array({1}), Json::object({{"a", 1}}),
                              Json(~std::uint64_t{0})}) {
      Json lying = whole;
      lying[Json::json_pointer(pointer)] = other;
      SCOPED_TRACE(pointer + " = " + other.dump());
      EXPECT_NO_THROW(decode(lying.dump()));
    }
}

TEST(Answers, WithWrongTypesYieldNoValuesAndDoNotThrow) {
  of_wrong_types(recorded("route-ecmp.json"),
                 [](const std::string& text) { ASSERT_TRUE(route_view_of(text, "10.99.0.1/32")); });
  of_wrong_types(recorded("bgp-summary.json"),
                 [](const std::string& text) { ASSERT_TRUE(bgp_sessions_of(text)); });
  nlohmann::json neighbors = nlohmann::json::parse(recorded("bgp-neighbors.json"));
  neighbors.erase("up1");  // same as the first; each member costs a parse of the whole text
  of_wrong_types(neighbors.dump(), [](const std::string& text) { ASSERT_TRUE(bgp_timers_of(text)); });
  of_wrong_types(recorded("bfd-peers.json"),
                 [](const std::string& text) { ASSERT_TRUE(bfd_sessions_of(text)); });
  const auto view = route_view_of(R"({"10.0.0.0/8":[{"selected":true,"protocol":7,"installed":"yes",
      "nexthops":[{"fib":true,"interfaceName":1},{"fib":true,"interfaceName":"up0"}]}]})",
                                  "10.0.0.0/8");
  ASSERT_TRUE(view);
  EXPECT_EQ(view->protocol, "");
  EXPECT_FALSE(view->installed);
  EXPECT_EQ(view->interfaces, std::vector<std::string>{"up0"});
}

Edit edit(const std::string& path, Value want, std::size_t index = 0) {
  auto parsed_path = Path::parse(path);
  EXPECT_TRUE(parsed_path) << parsed_path.error().text();
  auto out = edit_of(Change{*parsed_path, Value{}, want, 0}, index);
  EXPECT_TRUE(out) << out.error().text();
  return *out;
}

std::string sent(const std::vector<Edit>& edits, const State& have) {
  const auto steps = script_of(edits, have);
  if (!steps) return "error: " + steps.error().text();
  std::string out;
  for (const Sent& one : transcript(*steps)) out += one.daemon + "> " + one.line + "\n";
  return out;
}

TEST(Script, ReplaysForeignLinesUnderAnotherAsn) {
  const State have = state_of(recorded("bgpd-datacenter.txt"), recorded("bfdd.txt"));
  const std::string lines = sent({edit("bgp/asn", Value::integer(65009))}, have);
  EXPECT_TRUE(
      lines.starts_with("bgpd> configure terminal\nbgpd> no router bgp 4200000000\nbgpd> router bgp 65009\n"))
      << lines;
  for (const char* line :
       {"neighbor up0 description made by hand", "network 192.0.2.0/24 route-map RM",
        "neighbor 192.0.2.7 remote-as 65002", "aggregate-address 2001:db8::/32 summary-only"})
    EXPECT_NE(lines.find(line), std::string::npos) << line;
}

TEST(Script, IsEmptyWhenTheDeviceIsInSync) {
  const State have = state_of(recorded("bgpd-datacenter.txt"), recorded("bfdd.txt"));
  EXPECT_EQ(
      sent({edit("bgp/asn", Value::integer(4200000000)), edit("bgp/neighbor[up0]", Value::present()),
            edit("bgp/neighbor[up0]/remote-as", Value::text("external")),
            edit("bgp/neighbor[up0]/bfd", Value::text("lockstep")), edit("bgp/max-paths", Value::integer(64)),
            edit("bfd-profile[other]/multiplier", Value::integer(5)),
            edit("bgp/redistribute[static]", Value{})},
           have),
      "");
}

TEST(Script, MakesProfilesBeforeNeighboursAndRemovesThemAfter) {
  const State have = state_of(recorded("bgpd-traditional.txt"), recorded("bfdd.txt"));
  EXPECT_EQ(sent({edit("bfd-profile[fast]", Value::present(), 0), edit("bfd-profile[lockstep]", Value{}, 1),
                  edit("bgp/neighbor[up0]/bfd", Value::text("fast"), 2)},
                 have),
            "bfdd> configure terminal\nbfdd> bfd\nbfdd> profile fast\nbfdd> end\n"
            "bgpd> configure terminal\nbgpd> router bgp 4200000000\nbgpd> neighbor up0 bfd profile "
            "fast\nbgpd> end\n"
            "bfdd> configure terminal\nbfdd> bfd\nbfdd> no profile lockstep\nbfdd> end\n");
}

TEST(Script, LeavesTheOtherTimerAsItIsWhenOneIsRemoved) {
  const State have = state_of(
      "frr version 8.4.4\nfrr defaults datacenter\nrouter bgp 65001\n neighbor up0 interface remote-as "
      "external\n neighbor up0 timers 1 5\nexit\n",
      recorded("bfdd.txt"));
  const auto line = [&](const std::vector<Edit>& edits) {
    const std::string all = sent(edits, have);
    const std::size_t at = all.find("bgpd> neighbor up0 timers");
    const std::size_t no = all.find("bgpd> no neighbor up0 timers");
    const std::size_t from = std::min(at, no);
    return from == all.npos ? all : all.substr(from, all.find('\n', from) - from);
  };
  const Edit no_hold = edit("bgp/neighbor[up0]/hold", Value{});
  const Edit no_keepalive = edit("bgp/neighbor[up0]/keepalive", Value{}, 1);
  EXPECT_EQ(line({no_hold}), "bgpd> neighbor up0 timers 1 9");
  EXPECT_EQ(line({no_keepalive}), "bgpd> neighbor up0 timers 3 5");
  EXPECT_EQ(line({no_hold, no_keepalive}), "bgpd> no neighbor up0 timers");
}

TEST(Script, ResetsASessionWhoseTimersWouldNotTakeEffectOtherwise) {
  State have = state_of(recorded("bgpd-datacenter.txt"), recorded("bfdd.txt"));
  const std::vector<Edit> raised{edit("bgp/neighbor[up0]/hold", Value::integer(30)),
                                 edit("bgp/neighbor[up0]/keepalive", Value::integer(10), 1)};
  EXPECT_TRUE(resets_of(raised, have).empty()) << "it is not up";
  have.bgp->in_use["up0"] = {1, 3};
  const std::vector<Reset> resets = resets_of(raised, have);
  ASSERT_EQ(resets.size(), 1U);
  EXPECT_EQ(resets[0].line, "clear bgp up0");
  EXPECT_EQ(resets[0].changes, (std::vector<std::size_t>{0, 1}));
  have.bgp->in_use["up0"] = {10, 30};
  EXPECT_TRUE(resets_of(raised, have).empty()) << "it runs with them already";
  have.bgp->in_use["up0"] = {1, 3};
  std::vector<Edit> removed = raised;
  removed.push_back(edit("bgp/neighbor[up0]", Value{}, 2));
  EXPECT_TRUE(resets_of(removed, have).empty()) << "it goes";
}

TEST(Script, RefusesWhatFrrCannotExpress) {
  const State have = state_of(recorded("bgpd-traditional.txt"), recorded("bfdd.txt"));
  EXPECT_TRUE(sent({edit("bgp/asn", Value{})}, have).starts_with("error: "));
  EXPECT_TRUE(sent({edit("bgp/neighbor[up0]/remote-as", Value{})}, have).starts_with("error: "));
  EXPECT_TRUE(sent({edit("bgp/neighbor[nosuch]/bfd", Value::text("x"))}, have).starts_with("error: "));
}

TEST(Map, RefusesKeysAndValuesOfMoreThanOneToken) {
  const auto refuses = [](RowId row, std::string_view key, Value want) {
    const auto out = edit_of(Change{Path(row, {key}), Value{}, want, 0}, 0);
    return !out && out.error().kind == ErrorKind::invalid_spec;
  };
  EXPECT_TRUE(refuses(row("bgp/neighbor[*]"), "up0\nno router bgp 1", Value::present()));
  EXPECT_TRUE(refuses(row("bgp/neighbor[*]"), "up0 shutdown", Value::present()));
  EXPECT_TRUE(refuses(row("bgp/neighbor[*]/bfd"), "up0", Value::text("a b")));
  EXPECT_TRUE(refuses(row("bgp/aggregate[*]"), "10.65.3.0/16", Value::present()));
  EXPECT_TRUE(refuses(row("bgp/aggregate[*]"), "10.65.0.0", Value::present()));
  EXPECT_FALSE(refuses(row("bgp/aggregate[*]"), "10.65.0.0/16", Value::present()));
}

TEST(Map, SupportsEveryRoutingRowOfTheSchema) {
  std::vector<RowId> rows = rows_read();
  for (std::size_t i = 0; i < kSchema.size(); ++i) {
    const std::string_view pattern = kSchema[i].pattern;
    if (!pattern.starts_with("bgp") && !pattern.starts_with("bfd")) continue;
    EXPECT_NE(std::find(rows.begin(), rows.end(), static_cast<RowId>(i)), rows.end()) << pattern;
  }
}

}  // namespace
}  // namespace lockstep::frr
