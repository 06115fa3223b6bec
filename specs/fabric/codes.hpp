// The codes of the diagnostics of topology, allocation and compile. A code is never reused for another
// meaning.
#pragma once

#include <array>
#include <string_view>

#include "specs/language/codes.hpp"

namespace lockstep {

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
inline constexpr std::string_view not_cabled = "LS1241";
}  // namespace fabric_code

inline constexpr std::array kFabricCodes{
    CodeRow{fabric_code::device_twice, "a device is in one DeviceSet",
            "it would have two roles and two ways to reach it", "remove it from one of the DeviceSets"},
    CodeRow{fabric_code::no_such_device, "a device that is named is in a DeviceSet",
            "the cable or setting would apply to nothing",
            "correct the name, or add the device to a DeviceSet"},
    CodeRow{fabric_code::cabling_counts,
            "the two sides of a cabling rule have the counts that the rule needs",
            "cables would be left over, or ports without one",
            "count devices and ports on both sides; the message shows both numbers"},
    CodeRow{fabric_code::cabling_meaning, "a cabling rule uses the fields of its kind, in their range",
            "the field would be ignored silently",
            "remove the field, or use the rule (`by`) that it belongs to"},
    CodeRow{fabric_code::cabled_twice, "a port has one cable", "a port takes one cable",
            "correct the hostlist of one of the two rules; both lines are shown"},
    CodeRow{fabric_code::no_such_port, "a port that is cabled is listed in its DeviceSet",
            "the cable would end nowhere", "correct the name, or list the port"},
    CodeRow{fabric_code::no_speed, "the speed of each link is declared",
            "headroom, thresholds and SLOs follow from it",
            "write speed in the cabling rule, or in the ports or interfaces of its ends"},
    CodeRow{fabric_code::speeds_differ, "all declarations of a link's speed agree",
            "two ends of different speeds do not come up", "correct one of the two lines; both are shown"},
    CodeRow{fabric_code::cabled_to_itself, "a cable joins two devices",
            "a device cabled to itself carries no traffic", "correct the rule's from or to"},
    CodeRow{fabric_code::too_large, "a cluster is within the limits of devices, ports and entries",
            "memory stays bounded, whatever is committed",
            "split the cluster, correct a hostlist with too many digits, or allow more entries with "
            "--max-entries"},
    CodeRow{fabric_code::pool_too_small, "a pool of addresses or AS numbers has enough members",
            "some devices would get none",
            "choose a shorter prefix or a wider range; the message shows how many are needed"},
    CodeRow{fabric_code::pools_overlap, "pools of addresses and AS numbers have no members in common",
            "two devices would get one number",
            "separate the pools of tiers and of fabrics; both lines are shown"},
    CodeRow{fabric_code::lock_conflict, "allocations.lock and the specs agree",
            "a device would get another number than the one that it has",
            "change the specs back, delete a line that allocations.lock has twice, or give out new numbers "
            "with --renumber"},
    CodeRow{fabric_code::nothing_said, "a number that has to be allocated has a pool",
            "lockstep does not invent addresses or AS numbers", "add the pool (addressing, routing.asn)"},
    CodeRow{fabric_code::wrong_family, "an address pool is of the declared family",
            "links would get addresses of the other family", "change the pool or the family"},
    CodeRow{fabric_code::too_few_paths, "a switch may use all of its equal paths",
            "links beyond maxPaths would stay empty", "raise routing.ecmp.maxPaths"},
    CodeRow{fabric_code::two_asns, "a switch that several fabrics share gets one AS number",
            "a switch has one BGP speaker for each routing instance",
            "write the same ranges in all fabrics that share the switch"},
    CodeRow{fabric_code::one_table, "fabrics that share a switch are separated by VRFs",
            "their routes would be in one table",
            "write vrf in each of the Fabrics, a different one in each"},
    CodeRow{fabric_code::two_wants, "objects of equal priority want the same value of a setting",
            "which of the two applies would be chance",
            "give one object a higher priority, or remove one of the values; both lines are shown"},
    CodeRow{fabric_code::raw_conflict,
            "raw sets nothing that a typed field sets or that an object owns whole",
            "two sources of one setting would overwrite each other",
            "remove the raw setting, and use the typed field"},
    CodeRow{fabric_code::override_path, "an override sets a setting that exists and that can be set",
            "it would apply to nothing", "correct the path; `lockstep explain SPECS DEVICE PATH` shows one"},
    CodeRow{fabric_code::override_ended, "an override is removed or renewed by its end date",
            "it still applies, and an exception that was forgotten has to be seen",
            "remove it, or give it a new end date and reason"},
    CodeRow{fabric_code::override_value, "an override's value is one that the setting can have",
            "no device could apply it", "correct the value; it has the words, range and unit of the field"},
    CodeRow{fabric_code::selects_nothing,
            "a selector matches a device that the object is for, a hostlist of ports an interface",
            "the object would apply to nothing", "correct the labels, names or ports"},
    CodeRow{fabric_code::no_such_object, "an object that is referred to exists",
            "the reference would be ignored silently", "correct the name, or add the object"},
    CodeRow{fabric_code::two_policies, "two RolloutPolicies of equal priority select no device in common",
            "which of the two applies would be chance",
            "give one policy a higher priority, or narrow its selector"},
    CodeRow{fabric_code::maintenance_ended, "maintenance is removed or renewed by its last day",
            "its devices count as in service again", "remove the entry, or give it a new end date"},
    CodeRow{fabric_code::allowance_ended, "an exception under `allow` is removed or renewed by its last day",
            "what it names is reported again", "remove it, or give it a new end date and reason"},
    CodeRow{fabric_code::not_cabled, "of hosts of one DeviceSet, all have cables or none",
            "a host that was added and not cabled gets no address, and no benchmark measures it",
            "name it in a line of the Fabric's cabling"},
};

}  // namespace lockstep
