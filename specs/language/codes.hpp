// The numbered rules of the spec language: LS00xx for files and YAML, LS10xx for fields, values and
// references.
//
// Promises: a number keeps its meaning for ever (tools and suppressions rely on it); the table contains every
// number that load() can report, once.
#pragma once

#include <span>
#include <string_view>

namespace lockstep {

// For these numbers and those of specs/fabric.
struct CodeRow {
  std::string_view code;    // "LS1004"
  std::string_view rule;    // what must hold, one line
  std::string_view reason;  // why, one line
  std::string_view remedy;  // what to do if the rule is violated, one line
};

std::span<const CodeRow> language_codes();

// What these numbers report is no mistake: it is shown as a note, and `validate --strict` accepts it.
bool is_note(std::string_view code);

namespace code {
inline constexpr std::string_view unreadable = "LS0001";
inline constexpr std::string_view no_specs = "LS0002";
inline constexpr std::string_view too_large = "LS0003";
inline constexpr std::string_view not_utf8 = "LS0004";
inline constexpr std::string_view control_character = "LS0005";
inline constexpr std::string_view syntax = "LS0006";
inline constexpr std::string_view too_deep = "LS0007";
inline constexpr std::string_view too_many_nodes = "LS0008";
inline constexpr std::string_view cyclic_alias = "LS0009";
inline constexpr std::string_view merge_key = "LS0010";
inline constexpr std::string_view duplicate_key = "LS0011";
inline constexpr std::string_view tag = "LS0012";
inline constexpr std::string_view key_not_scalar = "LS0013";
inline constexpr std::string_view not_a_map = "LS0014";
inline constexpr std::string_view too_many_errors = "LS0015";

inline constexpr std::string_view unknown_kind = "LS1001";
inline constexpr std::string_view unknown_field = "LS1002";
inline constexpr std::string_view missing_field = "LS1003";
inline constexpr std::string_view wrong_type = "LS1004";
inline constexpr std::string_view unknown_api_version = "LS1005";
inline constexpr std::string_view bad_quantity = "LS1006";
inline constexpr std::string_view out_of_range = "LS1007";
inline constexpr std::string_view bad_hostlist = "LS1008";
inline constexpr std::string_view unknown_word = "LS1009";
inline constexpr std::string_view fields_conflict = "LS1010";
inline constexpr std::string_view bad_name = "LS1011";
inline constexpr std::string_view status_written = "LS1012";
inline constexpr std::string_view secret_written = "LS1013";
inline constexpr std::string_view written_twice = "LS1014";
inline constexpr std::string_view class_overlap = "LS1015";
inline constexpr std::string_view bandwidth_sum = "LS1016";
inline constexpr std::string_view slo_mismatch = "LS1017";
inline constexpr std::string_view timers = "LS1018";
inline constexpr std::string_view bad_prefix = "LS1019";
inline constexpr std::string_view rollout_incomplete = "LS1020";
inline constexpr std::string_view no_default_class = "LS1021";
inline constexpr std::string_view no_effect = "LS1022";
inline constexpr std::string_view not_as_reported = "LS1023";
inline constexpr std::string_view by_hand = "LS1024";
inline constexpr std::string_view undeclared_ports = "LS1025";

inline constexpr std::string_view duplicate_object = "LS1101";
inline constexpr std::string_view dangling_reference = "LS1102";
inline constexpr std::string_view unknown_device = "LS1103";
inline constexpr std::string_view device_twice = "LS1104";
inline constexpr std::string_view selects_nothing = "LS1105";
inline constexpr std::string_view unknown_interface = "LS1106";
inline constexpr std::string_view second_cluster = "LS1107";
inline constexpr std::string_view too_many_names = "LS1108";
inline constexpr std::string_view no_entries = "LS1109";
inline constexpr std::string_view not_read = "LS1110";
inline constexpr std::string_view two_local = "LS1111";
}  // namespace code

}  // namespace lockstep
