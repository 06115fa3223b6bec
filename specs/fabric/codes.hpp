// The numbers of the diagnostics of topology, allocation and compile. A number is never given a second
// meaning.
#pragma once

#include <array>
#include <string_view>

namespace lockstep {

struct FabricCode {
  std::string_view code;
  std::string_view reason;  // one line, as `lockstep explain LS1205` shows it
};

namespace fabric_code {
inline constexpr std::string_view device_twice = "LS1201";
inline constexpr std::string_view no_such_device = "LS1202";
inline constexpr std::string_view cabling_counts = "LS1203";
inline constexpr std::string_view cabling_meaning = "LS1204";
inline constexpr std::string_view cabled_twice = "LS1205";
inline constexpr std::string_view no_such_port = "LS1206";
inline constexpr std::string_view no_speed = "LS1207";
inline constexpr std::string_view speeds_differ = "LS1208";
inline constexpr std::string_view cabled_to_itself = "LS1209";
inline constexpr std::string_view too_large = "LS1210";
inline constexpr std::string_view pool_too_small = "LS1221";
inline constexpr std::string_view pools_overlap = "LS1222";
inline constexpr std::string_view lock_conflict = "LS1223";
inline constexpr std::string_view nothing_said = "LS1224";
inline constexpr std::string_view wrong_family = "LS1225";
inline constexpr std::string_view too_few_paths = "LS1226";
inline constexpr std::string_view two_asns = "LS1227";
inline constexpr std::string_view one_table = "LS1228";
inline constexpr std::string_view two_wants = "LS1231";
inline constexpr std::string_view raw_conflict = "LS1232";
inline constexpr std::string_view override_path = "LS1233";
inline constexpr std::string_view override_ended = "LS1234";
inline constexpr std::string_view override_value = "LS1235";
inline constexpr std::string_view selects_nothing = "LS1236";
inline constexpr std::string_view no_such_object = "LS1237";
inline constexpr std::string_view two_policies = "LS1238";
inline constexpr std::string_view maintenance_ended = "LS1239";
inline constexpr std::string_view allowance_ended = "LS1240";
}  // namespace fabric_code

inline constexpr std::array kFabricCodes{
    FabricCode{fabric_code::device_twice, "two DeviceSets name the same device"},
    FabricCode{fabric_code::no_such_device, "a device is named that is in no DeviceSet"},
    FabricCode{fabric_code::cabling_counts, "the two sides of a cabling law do not fit together"},
    FabricCode{fabric_code::cabling_meaning,
               "a cabling law says a field that means nothing there, or a number out of its range"},
    FabricCode{fabric_code::cabled_twice, "a port has two cables"},
    FabricCode{fabric_code::no_such_port, "a law cables a port that its DeviceSet does not have"},
    FabricCode{fabric_code::no_speed, "no line says how fast a link is"},
    FabricCode{fabric_code::speeds_differ, "two lines say different speeds of one link"},
    FabricCode{fabric_code::cabled_to_itself, "a law cables a device to itself"},
    FabricCode{fabric_code::too_large,
               "a cluster is larger than what is computed with: memory stays bounded"},
    FabricCode{fabric_code::pool_too_small,
               "a pool of addresses or AS numbers has fewer members than are needed"},
    FabricCode{fabric_code::pools_overlap, "two pools of addresses or AS numbers have members in common"},
    FabricCode{fabric_code::lock_conflict, "allocations.lock and the specs contradict each other"},
    FabricCode{fabric_code::nothing_said, "a number must be allocated, and no line says from where"},
    FabricCode{fabric_code::wrong_family, "an address pool is of the other family"},
    FabricCode{fabric_code::too_few_paths, "a switch has more equal paths than it may use"},
    FabricCode{fabric_code::two_asns, "a switch of two fabrics would have two AS numbers"},
    FabricCode{fabric_code::one_table, "two fabrics share a switch, and not by VRFs"},
    FabricCode{fabric_code::two_wants, "two objects of equal priority want different values of one setting"},
    FabricCode{fabric_code::raw_conflict, "raw says what a typed field says, or what an object owns whole"},
    FabricCode{fabric_code::override_path, "an override sets what is no setting, or one that nobody can set"},
    FabricCode{fabric_code::override_ended, "an override's end date has passed"},
    FabricCode{fabric_code::override_value, "an override's value is not one that the setting can have"},
    FabricCode{fabric_code::selects_nothing,
               "a selector matches no device that it is for, or a hostlist of ports no interface"},
    FabricCode{fabric_code::no_such_object, "an object is named that does not exist"},
    FabricCode{fabric_code::two_policies, "two RolloutPolicies of equal priority select one device"},
    FabricCode{fabric_code::maintenance_ended, "the last day of a maintenance has passed"},
    FabricCode{fabric_code::allowance_ended, "the last day of an exception under 'allow' has passed"},
};

}  // namespace lockstep
