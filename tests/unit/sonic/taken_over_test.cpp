// Whether SONiC's daemons follow the configuration: each way in which they may not, and what is no reason.
#include "drivers/sonic/taken_over.hpp"

#include <gtest/gtest.h>

#include "drivers/sonic/driver.hpp"
#include "specs/model/schema_rows.hpp"
#include "tests/unit/sonic/redis_process.hpp"

namespace lockstep::sonic {
namespace {

ConfigDb config() {
  return *parse_config_db(R"({
    "PORT": {"Ethernet0": {"lanes": "0", "mtu": "9100", "admin_status": "up"}, "Ethernet8": {"lanes": "8"}},
    "INTERFACE": {"Ethernet0": {}, "Ethernet0|10.0.0.0/31": {}, "Ethernet0|2001:DB8::1/64": {}},
    "LOOPBACK_INTERFACE": {"Loopback0": {}, "Loopback0|10.255.0.1/32": {}},
    "PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "3,4"}}})");
}
TakenOver there() {
  TakenOver out;
  out.ports = {{"PortInitDone", {{"lanes", "0"}}},
               {"Ethernet0", {{"mtu", "9100"}, {"admin_status", "up"}}},
               {"Ethernet8", {{"mtu", "9100"}, {"admin_status", "down"}}}};
  add_interface_rows({{"Ethernet0", {}},
                      {"Ethernet0:10.0.0.0/31", {}},
                      {"Ethernet0:2001:db8::1/64", {}},
                      {"Loopback0:10.255.0.1/32", {}},
                      {"Vlan7:10.7.0.1/24", {}}},
                     ":", out);
  out.asic_ports = {
      {"Ethernet0", {{"SAI_PORT_ATTR_ADMIN_STATE", "true"}, {"SAI_PORT_ATTR_PRIORITY_FLOW_CONTROL", "24"}}}};
  return out;
}

TEST(TakenOver, IsWhatTheDaemonsShow) {
  EXPECT_EQ(not_taken_over(config(), there()), "");
  EXPECT_TRUE(there().has_started());
  EXPECT_FALSE(TakenOver().has_started());
}

TEST(TakenOver, EachThingThatTheyHaveOtherwiseIsNamed) {
  const auto with = [](const auto& change) {
    TakenOver out = there();
    change(out);
    return not_taken_over(config(), out);
  };
  EXPECT_EQ(with([](TakenOver& one) { one.ports["Ethernet0"]["mtu"] = "1500"; }),
            "PORT|Ethernet0 mtu is 9100, and 1500 in APPL_DB");
  EXPECT_EQ(with([](TakenOver& one) { one.ports["Ethernet8"]["admin_status"] = "up"; }),
            "PORT|Ethernet8 admin_status is down, and up in APPL_DB");
  EXPECT_EQ(with([](TakenOver& one) {
              one.addresses.erase({"Ethernet0", *IpPrefix::parse("10.0.0.0/31")});
            }),
            "INTERFACE|Ethernet0|10.0.0.0/31 is not in APPL_DB");
  EXPECT_EQ(with([](TakenOver& one) {
              one.addresses.erase({"Loopback0", *IpPrefix::parse("10.255.0.1/32")});
            }),
            "LOOPBACK_INTERFACE|Loopback0|10.255.0.1/32 is not in APPL_DB");
  EXPECT_EQ(
      with([](TakenOver& one) { one.addresses.emplace("Ethernet8", *IpPrefix::parse("192.0.2.1/31")); }),
      "192.0.2.1/31 of Ethernet8 is in APPL_DB, and not in CONFIG_DB");
  EXPECT_EQ(with([](TakenOver& one) { one.asic_ports["Ethernet0"]["SAI_PORT_ATTR_ADMIN_STATE"] = "false"; }),
            "PORT|Ethernet0 admin_status is up, and down in ASIC_DB");
  EXPECT_EQ(
      with([](TakenOver& one) { one.asic_ports["Ethernet0"]["SAI_PORT_ATTR_PRIORITY_FLOW_CONTROL"] = "8"; }),
      "PORT_QOS_MAP|Ethernet0 pfc_enable, as bits, is 24, and 8 in ASIC_DB");
}

TEST(TakenOver, WhatTheyDoNotShowIsNoReason) {
  TakenOver bare = there();
  bare.ports = {{"PortInitDone", {}}, {"Ethernet0", {}}};
  bare.asic_ports.clear();
  EXPECT_EQ(not_taken_over(config(), bare), "");
  // Asymmetric PFC is in other attributes; a list that is none is not orchagent's matter.
  ConfigDb other = config();
  other.tables["PORT"]["Ethernet0"]["pfc_asym"] = "on";
  TakenOver asymmetric = there();
  asymmetric.asic_ports["Ethernet0"]["SAI_PORT_ATTR_PRIORITY_FLOW_CONTROL"] = "0";
  EXPECT_EQ(not_taken_over(other, asymmetric), "");
  other = config();
  other.tables["PORT_QOS_MAP"]["Ethernet0"]["pfc_enable"] = "3,9";
  EXPECT_EQ(not_taken_over(other, there()), "");
}

TEST(TakenOver, IsAnEffectOfTheSwitch) {
  LOCKSTEP_NEEDS_REDIS();
  const RedisProcess redis;
  const Path path(row("switch-config/taken-over"), {});
  const auto set = [&redis](const char* database, std::vector<std::string> words) {
    words.insert(words.begin(), {"-n", database, "HSET"});
    redis.cli(words);
  };
  set("4", {"PORT|Ethernet0", "lanes", "0", "mtu", "9100", "admin_status", "up"});
  set("4", {"PORT_QOS_MAP|Ethernet0", "pfc_enable", "3"});
  redis.cli({"SET", "CONFIG_DB_INITIALIZED", "1"});
  const Attached leaf = make_sonic_driver({.device = "leaf0", .databases = usual_databases(redis.server())});
  const auto observed = [&leaf] { return *leaf.driver->observe(Scope{}, "", patient()); };
  EXPECT_NE(lockstep::incapable_of(observed().incapable, path), nullptr) << "orchagent does not run yet";
  set("0", {"PORT_TABLE:PortInitDone", "lanes", "0"});
  set("0", {"PORT_TABLE:Ethernet0", "admin_status", "up", "mtu", "9100"});
  set("2", {"COUNTERS_PORT_NAME_MAP", "Ethernet0", "oid:0x1000000000002"});
  set("1",
      {"ASIC_STATE:SAI_OBJECT_TYPE_PORT:oid:0x1000000000002", "SAI_PORT_ATTR_PRIORITY_FLOW_CONTROL", "8"});
  const Observation good = observed();
  EXPECT_EQ(good.have.value(path), Value::present());
  EXPECT_EQ(lockstep::incapable_of(good.incapable, path), nullptr);
  set("1",
      {"ASIC_STATE:SAI_OBJECT_TYPE_PORT:oid:0x1000000000002", "SAI_PORT_ATTR_PRIORITY_FLOW_CONTROL", "0"});
  const Observation bad = observed();
  EXPECT_EQ(bad.have.value(path), Value{});
  EXPECT_NE(bad.revision, good.revision);
  EXPECT_EQ(bad.notes, std::vector<std::string>{"not taken over by SONiC's daemons: PORT_QOS_MAP|Ethernet0 "
                                                "pfc_enable, as bits, is 8, and 0 in ASIC_DB"});
}

}  // namespace
}  // namespace lockstep::sonic
