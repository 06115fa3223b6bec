#include <algorithm>
#include <charconv>
#include <optional>

#include "drivers/sonic/builtin_rules.hpp"
#include "drivers/sonic/text_parts.hpp"

namespace lockstep::sonic {
namespace {

bool is_word_of(std::string_view all, std::string_view word) {
  const std::vector<std::string> words = parts_of(all, '|');
  return !all.empty() && std::ranges::find(words, word) != words.end();
}

bool is_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// Numbers of more than 63 bits count as the greatest.
std::optional<std::int64_t> integer_of(std::string_view text) {
  text = without_blanks(text);
  if (text.starts_with('+')) text.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed == std::errc::result_out_of_range && is_digits(text)) {
    std::uint64_t wide = 0;
    const auto also = std::from_chars(text.data(), text.data() + text.size(), wide);
    if (also.ec == std::errc()) return std::numeric_limits<std::int64_t>::max();
  }
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool is_in(const ValueRule& rule, std::string_view text) {
  const auto number = integer_of(text);
  return number && *number >= rule.least && *number <= rule.most;
}

bool is_name(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  constexpr std::size_t kMost = 32;
  return !text.empty() && text.size() <= kMost && text.front() != '-' && text.front() != '_' &&
         std::ranges::all_of(text, fits);
}

bool are_priorities(std::string_view text) {
  if (text.empty()) return true;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (i % 2 == 0 ? text[i] < '0' || text[i] > '7' : text[i] != ',') return false;
  return text.size() % 2 == 1;
}

bool is_range(const ValueRule& rule, std::string_view text) {
  const std::size_t dash = text.find('-');
  const std::string_view first = text.substr(0, dash);
  const std::string_view last = dash == text.npos ? first : text.substr(dash + 1);
  return is_digits(first) && is_digits(last) && is_in(rule, first) && is_in(rule, last);
}

std::string limits_of(const ValueRule& rule) {
  std::string out = "a whole number";
  if (rule.most != std::numeric_limits<std::int64_t>::max())
    out += " from " + std::to_string(rule.least) + " to " + std::to_string(rule.most);
  if (!rule.or_words.empty()) out += " or " + std::string(rule.or_words);
  return out;
}

class BuiltinCheck {
 public:
  explicit BuiltinCheck(const ConfigDb& config) : config_(config) {}

  ConfigFindings all() {
    for (const auto& [name, rows] : config_.tables)
      if (!check_table(name)) findings_.without_model.push_back(name);
    return std::move(findings_);
  }

  std::vector<ConfigFault> changed(std::string_view table, std::string_view key) {
    if (const ConfigRow* const row = config_.find(table, key)) {
      if (const TableRule* const rule = rule_of(table)) check_row(*rule, std::string(key), *row);
    } else {
      for (const TableRule& rule : table_rules())
        if (refers(rule, table)) check_table(rule.table);
    }
    if (std::ranges::any_of(order_rules(), [&](const OrderRule& order) {
          return order.table == table && order.other_row == key && !key.empty();
        }))
      check_table(table);
    return std::move(findings_.faults);
  }

 private:
  static const TableRule* rule_of(std::string_view table) {
    const auto rule = std::ranges::find(table_rules(), table, &TableRule::table);
    return rule == table_rules().end() ? nullptr : &*rule;
  }

  // False: no rule is about it.
  bool check_table(std::string_view name) {
    const TableRule* const rule = rule_of(name);
    const auto rows = config_.tables.find(name);
    if (rule == nullptr || rows == config_.tables.end()) return rule != nullptr;
    for (const auto& [key, row] : rows->second) check_row(*rule, key, row);
    return true;
  }

  static bool refers(const TableRule& rule, std::string_view table) {
    const auto is_to = [table](const ValueRule* value) {
      return value != nullptr && value->form == ValueForm::reference && value->words == table;
    };
    return is_to(rule.map_field) || is_to(rule.map_value) ||
           std::ranges::any_of(rule.fields, [&](const FieldRule& one) { return is_to(&one.value); }) ||
           std::ranges::any_of(rule.keys, [&](const KeyRule& one) {
             return std::ranges::any_of(one.parts, [&](const ValueRule& part) { return is_to(&part); });
           });
  }

  void check_row(const TableRule& rule, const std::string& key, const ConfigRow& row) {
    ConfigFault at{std::string(rule.table), key, {}, {}};
    check_key(rule, at);
    if (rule.map_field != nullptr) return check_map(rule, at, row);
    for (const FieldRule& field : rule.fields) {
      at.field = field.field;
      const auto found = row.find(field.field);
      if (found == row.end()) {
        if (field.required) fault(at, "it must be there, and is not");
      } else if (const std::string why = why_not_in(field.row, key); !why.empty()) {
        fault(at, why);
      } else {
        check_field(field, at, found->second);
      }
    }
    check_between(rule.table, at, row);
  }

  // Empty: a field of these rows may be in this one.
  static std::string why_not_in(std::string_view rows, std::string_view key) {
    if (rows.starts_with('!')) return key == rows.substr(1) ? "not in the row " + std::string(key) : "";
    return rows.empty() || key == rows ? "" : "only in the row " + std::string(rows);
  }

  void check_key(const TableRule& rule, const ConfigFault& at) {
    const std::vector<std::string> parts = parts_of(at.key, '|');
    const auto shape = std::ranges::find_if(
        rule.keys, [&parts](const KeyRule& one) { return one.parts.size() == parts.size(); });
    if (shape == rule.keys.end())
      return fault(at, "no key of this table has " + std::to_string(parts.size()) + " parts");
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (const std::string why = why_not(shape->parts[i], parts[i]); !why.empty())
        fault(at, "the key: " + why);
  }

  void check_map(const TableRule& rule, ConfigFault at, const ConfigRow& row) {
    for (const auto& [field, value] : row) {
      at.field = field;
      if (const std::string why = why_not_of_map(*rule.map_field, field); !why.empty())
        fault(at, "the name of the field: " + why);
      const auto* const text = std::get_if<std::string>(&value);
      const std::string why =
          text == nullptr ? "a list, where a map has one value" : why_not_of_map(*rule.map_value, *text);
      if (!why.empty()) fault(at, why);
    }
  }

  void check_field(const FieldRule& rule, const ConfigFault& at, const ConfigField& value) {
    ConfigList all;
    if (const auto* const list = std::get_if<ConfigList>(&value)) {
      if (rule.several == Several::no) return fault(at, "a list, where one value is expected");
      all = *list;
    } else {
      const auto& text = std::get<std::string>(value);
      if (rule.several == Several::list)
        return fault(at, "one text, where a list is expected: write [\"...\"]");
      all = rule.several == Several::no ? ConfigList{text} : parts_of(text, ',');
    }
    for (const std::string& one : all) {
      if (rule.several != Several::no && one.empty()) continue;  // an empty list is a list of one empty text
      if (const std::string why = why_not(rule.value, one); !why.empty()) return fault(at, why);
    }
  }

  void check_between(std::string_view table, ConfigFault at, const ConfigRow& row) {
    const auto applies = [&](const auto& rule) { return rule.table == table && row.contains(rule.field); };
    for (const OrderRule& order : order_rules()) {
      if (!applies(order)) continue;
      at.field = order.field;
      const ConfigRow* const other_row =
          order.other_row.empty() ? &row : config_.find(table, order.other_row);
      const auto value = number_in(&row, order.field);
      const auto other = number_in(other_row, order.other);
      if (value && other && *value < *other)
        fault(at,
              "it must not be less than " + std::string(order.other) + " (" + std::to_string(*other) + ")");
    }
    for (const NeedRule& need : need_rules()) {
      at.field = need.field;
      if (applies(need) && !row.contains(need.other)) fault(at, "it needs " + std::string(need.other));
    }
    for (const ExclusionRule& two : exclusion_rules()) {
      at.field = two.field;
      if (applies(two) && row.contains(two.other)) fault(at, "not together with " + std::string(two.other));
    }
  }

  static std::optional<std::int64_t> number_in(const ConfigRow* row, std::string_view field) {
    if (row == nullptr) return std::nullopt;
    const auto found = row->find(field);
    const auto* const text = found == row->end() ? nullptr : std::get_if<std::string>(&found->second);
    return text == nullptr ? std::nullopt : integer_of(*text);
  }

  // The models allow empty texts in maps.
  std::string why_not_of_map(const ValueRule& rule, const std::string& text) const {
    return rule.form == ValueForm::integer && text.empty() ? "" : why_not(rule, text);
  }

  // Empty: the text has the form of the rule.
  std::string why_not(const ValueRule& rule, const std::string& text) const {
    switch (rule.form) {
      case ValueForm::any: return {};
      case ValueForm::integer:
        return is_in(rule, text) || is_word_of(rule.or_words, text)
                   ? ""
                   : "'" + text + "' is not " + limits_of(rule);
      case ValueForm::words:
        return is_word_of(rule.words, text) ? "" : "'" + text + "' is not one of " + listed(rule.words);
      case ValueForm::reference:
        return is_row(rule.words, text) || is_word_of(rule.or_words, text)
                   ? ""
                   : "there is no " + text + " in " + std::string(rule.words);
      case ValueForm::priorities:
        return are_priorities(text) ? ""
                                    : "'" + text + "' is not a list of priorities from 0 to 7, such as 3,4";
      case ValueForm::cable:
        return text.size() > 1 && text.back() == 'm' &&
                       is_digits(std::string_view(text).substr(0, text.size() - 1))
                   ? ""
                   : "'" + text + "' is not a length in whole metres, such as 5m";
      case ValueForm::name:
        return is_name(text) ? "" : "'" + text + "' is not a name of up to 32 letters, digits, - and _";
      case ValueForm::range:
        return is_range(rule, text) ? ""
                                    : "'" + text + "' is not a number or a range such as 3-4, up to " +
                                          std::to_string(rule.most);
      case ValueForm::prefix:
        return text.find('/') != text.npos ? "" : "'" + text + "' is not an address with its prefix length";
    }
    return {};
  }

  bool is_row(std::string_view table, const std::string& key) const {
    return config_.find(table, without_blanks(key)) != nullptr;
  }

  static std::string listed(std::string_view words) {
    std::string out;
    for (const std::string& word : parts_of(words, '|')) out += (out.empty() ? "" : ", ") + word;
    return out;
  }

  void fault(ConfigFault at, std::string message) {
    at.message = std::move(message);
    findings_.add(std::move(at));
  }

  const ConfigDb& config_;
  ConfigFindings findings_;
};

}  // namespace

ConfigFindings check_by_builtin_rules(const ConfigDb& config) { return BuiltinCheck(config).all(); }

std::vector<ConfigFault> check_row_by_builtin_rules(const ConfigDb& config, std::string_view table,
                                                    std::string_view key) {
  return BuiltinCheck(config).changed(table, key);
}

}  // namespace lockstep::sonic
