// The sonic driver over ssh: its switch is the stand-in of tests/sonic_commands.
#include <nlohmann/json.hpp>

#include "tests/contract/sonic_subject.hpp"
#include "tests/sonic_commands/switch_folder.hpp"

namespace lockstep::contract {
namespace {

constexpr const char* kSwitch = R"({
  "PORT": {"rail0": {"lanes": "0,1,2,3", "alias": "eth0", "speed": "25000"},
           "up0": {"lanes": "8,9,10,11", "speed": "100000"},
           "rail9": {"lanes": "4,5,6,7", "mtu": "1400", "speed": "100000"}},
  "VLAN": {"Vlan99": {"vlanid": "99"}},
  "DEVICE_METADATA": {"localhost": {"hostname": "sw1", "frr_mgmt_framework_config": "true"}},
  "BUFFER_POOL": {"ingress_lossless_pool": {"type": "ingress", "mode": "dynamic", "size": "30000000"}},
  "BUFFER_PROFILE": {"mine": {"pool": "ingress_lossless_pool", "size": "0", "dynamic_th": "0"}},
  "PFC_WD": {"rail9": {"action": "drop", "detection_time": "200", "restoration_time": "400"}},
  "LOOPBACK_INTERFACE": {"Loopback0": {}, "Loopback1": {}},
  "SCHEDULER": {"scheduler.0": {"type": "DWRR", "weight": "14"}}})";

class SonicPatch final : public Subject {
 public:
  SonicPatch() {
    folder_.write("config.json", kSwitch);
    attached = make_sonic_patch_driver(folder_.target());
    one_row_of_a_kind = true;  // the sonic subject walks the same map
    never_unset = {"interface[*]/speed", "interface[*]/class[*]/ecn-max", "interface[*]/class[*]/ecn-min",
                   "interface[*]/buffer[*]/size", "interface[*]/buffer[*]/xoff"};
    keeps_a_default = {"interface[*]/class[*]/ecn-probability", "interface[*]/buffer[*]/dynamic-threshold"};
    follow = {"interface[*]/trust"};
  }
  std::string foreign() override {
    const nlohmann::json now = folder_.config();
    std::string out;
    for (const auto& [table, key] : {std::pair("PORT", "rail9"),
                                     {"VLAN", "Vlan99"},
                                     {"DEVICE_METADATA", "localhost"},
                                     {"BUFFER_POOL", "ingress_lossless_pool"},
                                     {"BUFFER_PROFILE", "mine"},
                                     {"PFC_WD", "rail9"},
                                     {"LOOPBACK_INTERFACE", "Loopback1"},
                                     {"SCHEDULER", "scheduler.0"}})
      out += now.at(table).at(key).dump() + "\n";
    return out + now.at("PORT").at("rail0").at("lanes").dump();
  }
  void touch() override {
    nlohmann::json now = folder_.config();
    now["PORT"]["rail9"]["mtu"] = std::to_string(1400 + ++touches_);
    folder_.set_config(now);
  }
  bool lose_replies(bool on) override { return misbehave(on, "lose reply", "part apply"); }
  bool hang(bool on) override { return misbehave(on, "hang", ""); }

 private:
  bool misbehave(bool on, const char* what, const char* in) {
    folder_.misbehave(on ? nlohmann::json{{"ssh", {{"what", what}, {"in", in}}}} : nlohmann::json());
    return true;
  }

  stand_in::SwitchFolder folder_{LOCKSTEP_SONIC_STAND_IN};
  int touches_ = 0;
};

}  // namespace

std::unique_ptr<Subject> make_sonic_patch_subject() { return std::make_unique<SonicPatch>(); }

}  // namespace lockstep::contract
