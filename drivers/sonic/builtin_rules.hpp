// Rules for the tables of a lossless RoCE fabric, for where SONiC's YANG models are not at hand: forms of
// values, references and orders between fields, as of sonic-buildimage 086b03bd's models.
//
// Promises: what those models accept is accepted. Not all that they reject is rejected: a field that no rule
// names is not judged, because images differ in them. Tables without rules are listed.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "drivers/sonic/config_db.hpp"
#include "drivers/sonic/findings.hpp"

namespace lockstep::sonic {

enum class ValueForm : std::uint8_t {
  any,
  integer,     // least..most, or one of `or_words`
  words,       // one of `words`
  reference,   // a row of the table `words`, or one of `or_words`
  priorities,  // "3,4", or nothing
  cable,       // "5m"
  name,        // up to 32 letters, digits, - and _
  range,       // "3" or "3-4", each least..most
  prefix,      // "10.0.0.0/31"
};

// How a field may hold several values.
enum class Several : std::uint8_t { no, list, list_or_commas };

struct ValueRule {
  ValueForm form = ValueForm::any;
  std::string_view words = {};  // parted by |
  std::string_view or_words = {};
  std::int64_t least = 0;
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
};

struct FieldRule {
  std::string_view field;
  ValueRule value;
  bool required = false;
  Several several = Several::no;
  // Only in this row (GLOBAL), or with ! in front in all others; empty: in each.
  std::string_view row = {};
};

// Keys of as many parts; of others it is a fault.
struct KeyRule {
  std::span<const ValueRule> parts;
};

struct TableRule {
  std::string_view table;
  std::span<const KeyRule> keys;
  std::span<const FieldRule> fields;
  // Of a table whose fields are a map: each field, and its value.
  const ValueRule* map_field = nullptr;
  const ValueRule* map_value = nullptr;
};
std::span<const TableRule> table_rules();

// Between two fields: `field`, where it is there, is at least `other`.
struct OrderRule {
  std::string_view table;
  std::string_view field;
  std::string_view other;
  std::string_view other_row = {};  // empty: the same
};
std::span<const OrderRule> order_rules();

// A field that is of no use without another.
struct NeedRule {
  std::string_view table;
  std::string_view field;
  std::string_view other;
};
std::span<const NeedRule> need_rules();

// Two fields that a row can't both have.
struct ExclusionRule {
  std::string_view table;
  std::string_view field;
  std::string_view other;
};
std::span<const ExclusionRule> exclusion_rules();

// What of `config` breaks these rules.
ConfigFindings check_by_builtin_rules(const ConfigDb& config);
// The same after a change of one row of a configuration that broke none: looks only at what the row can
// affect.
std::vector<ConfigFault> check_row_by_builtin_rules(const ConfigDb& config, std::string_view table,
                                                    std::string_view key);

}  // namespace lockstep::sonic
