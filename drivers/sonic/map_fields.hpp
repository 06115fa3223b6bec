// Entries that are one field, or the presence, of one row of CONFIG_DB.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "drivers/driver.hpp"
#include "drivers/sonic/config_db.hpp"

namespace lockstep::sonic {

// How a field's text is an entry's value.
enum class Form : std::uint8_t {
  up_down,     // boolean
  down_up,     // boolean: down is true
  on_off,      // boolean
  true_false,  // boolean
  number,
  metres,              // "5m"
  word,                // of Words, or as it is
  words,               // a list
  peer,                // of two fields: an ASN, or external or internal
  row,                 // the row is there
  row_that_says_true,  // it is there, and its field is true
  breakout,            // "2x100G[50G]": in brackets is which other speeds the ports could have
  enabled,             // present: it says enable. Taken away, it says disable: daemons ignore that a row goes
};

// What Lockstep calls otherwise than SONiC.
struct Word {
  std::string_view entry;
  std::string_view native;
};

struct FieldLine {
  RowId row;
  std::string_view table;
  std::string_view key;    // "{0}|{1}": by the entry's keys
  std::string_view field;  // also with {0}; empty: Form::row
  Form form;
  std::span<const Word> words{};
  // The row goes with its last field, and is made with its first.
  bool row_of_fields = false;
  // What SONiC calls {0} of `key` otherwise; a row that has none of these names is nothing of ours.
  std::span<const Word> keys{};
  // Why only people may change it; empty: it is written.
  std::string_view by_hand{};
};

std::span<const FieldLine> field_lines();
// The line by which a row is written; null: none.
const FieldLine* field_line(RowId row);

void add_field(const ConfigDb& config, const FieldLine& line, TreeBuilder& tree);
Result<Done> edit_field(ConfigDb& config, const FieldLine& line, const Change& change);

// Of tables that only frrcfgd reads.
bool is_routing(const FieldLine& line);

// "lo": Loopback0 in CONFIG_DB.
bool is_loopback(std::string_view port);

}  // namespace lockstep::sonic
