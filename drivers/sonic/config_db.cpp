#include "drivers/sonic/config_db.hpp"

#include <nlohmann/json.hpp>
#include <set>

#include "specs/model/bounded_json.hpp"
#include "specs/model/printable.hpp"

namespace lockstep::sonic {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kNoFields = "NULL";  // field and value of a row without fields
constexpr char kListMark = '@';
constexpr std::size_t kDepth = 8;   // the database, tables, rows and lists are 4
constexpr std::size_t kShown = 40;  // bytes of a name that an error shows

// Where in the database, as errors name it.
struct Place {
  std::string_view table;
  std::string_view key = {};
  std::string_view field = {};
};

std::string shown(std::string_view name) {
  return "'" + printable(name.substr(0, kShown)) + (name.size() > kShown ? "..." : "") + "'";
}

std::string text_of(const Place& place) {
  std::string out = place.table.empty() ? "CONFIG_DB" : "table " + shown(place.table);
  if (!place.key.empty()) out += ", key " + shown(place.key);
  if (!place.field.empty()) out += ", field " + shown(place.field);
  return out;
}

Error wrong(const Place& place, const std::string& what) {
  return Error{ErrorKind::invalid_spec, (text_of(place) + ": ").append(what)};
}

// Finds a name that one object has twice, which the parser would hide by keeping the last.
class RepeatedNames final : public nlohmann::json_sax<Json> {
 public:
  const std::optional<Error>& found() const { return found_; }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

  bool start_object(std::size_t) override {
    open_.emplace_back();
    return true;
  }
  bool end_object() override {
    open_.pop_back();
    return true;
  }
  bool key(string_t& name) override {
    Names& names = open_.back();
    names.last = name;
    if (names.all.insert(name).second) return true;
    Place place{open_[0].last};
    if (open_.size() > 1) place.key = open_[1].last;
    if (open_.size() > 2) place.field = open_[2].last;
    found_ = wrong(place, "written twice");
    return false;
  }

 private:
  struct Names {
    std::set<std::string, std::less<>> all;
    std::string last;
  };
  std::vector<Names> open_;
  std::optional<Error> found_;
};

// What no name and no value may have.
std::string why_not_text(std::string_view text) {
  if (find_invalid_utf8(text)) return "a byte that is not UTF-8";
  if (text.find('\0') != text.npos) return "a character of the number zero";
  return {};
}

Result<Done> check_name(const Place& place, std::string_view name, const char* kind) {
  const std::string of = std::string("the name of a ") + kind;
  if (name.empty()) return wrong(place, of + " is empty");
  if (const std::string why = why_not_text(name); !why.empty()) return wrong(place, of + " has " + why);
  return Done{};
}

Result<std::string> scalar_of(const Place& place, const Json& json) {
  if (json.is_number_integer()) return json.dump();
  if (!json.is_string()) {
    const std::string is = json.is_boolean()
                               ? (json.get<bool>() ? "true" : "false") + std::string(" without quotes")
                           : json.is_number() ? "a fraction without quotes"
                                              : std::string(json.type_name());
    return wrong(place, "a value is a text, an integer or a list of texts, not " + is);
  }
  const auto& text = json.get_ref<const std::string&>();
  if (const std::string why = why_not_text(text); !why.empty()) return wrong(place, "the value has " + why);
  return text;
}

Result<ConfigField> field_of(const Place& place, const Json& json) {
  if (!json.is_array()) {
    TRY(std::string text, scalar_of(place, json));
    return ConfigField(std::move(text));
  }
  ConfigList list;
  for (const Json& one : json) {
    // ConfigDBConnector joins texts only.
    if (!one.is_string()) return wrong(place, std::string("a list has texts, not ") + one.type_name());
    TRY(std::string text, scalar_of(place, one));
    if (text.find(',') != text.npos)
      return wrong(place, "a text of a list has a comma, which parts texts in Redis");
    list.push_back(std::move(text));
  }
  return ConfigField(std::move(list));
}

Result<ConfigRow> row_of(const Place& place, const Json& json) {
  if (!json.is_object())
    return wrong(place, std::string("a row is an object of fields, not ") + json.type_name());
  ConfigRow row;
  for (const auto& [name, value] : json.items()) {
    const Place at{place.table, place.key, name};
    TRY_DONE(check_name(place, name, "field"));
    if (name.back() == kListMark)
      return wrong(at, "the name of a field ends in @, which marks lists in Redis: write a list");
    if (name == kNoFields) {
      if (value != kNoFields) return wrong(at, "the field NULL stands for a row without fields, and is NULL");
      continue;
    }
    TRY(ConfigField field, field_of(at, value));
    row.emplace(name, std::move(field));
  }
  return row;
}

Result<ConfigTable> table_of(const std::string& name, const Json& json) {
  TRY_DONE(check_name({}, name, "table"));
  if (name.find('|') != name.npos)
    return wrong({name}, "the name of a table has |, which parts it from keys");
  if (!json.is_object())
    return wrong({name}, std::string("a table is an object of rows, not ") + json.type_name());
  ConfigTable table;
  for (const auto& [key, row] : json.items()) {
    TRY_DONE(check_name({name}, key, "key"));
    TRY(ConfigRow fields, row_of({name, key}, row));
    table.emplace(key, std::move(fields));
  }
  return table;
}

}  // namespace

const ConfigRow* ConfigDb::find(std::string_view table, std::string_view key) const {
  const auto rows = tables.find(table);
  if (rows == tables.end()) return nullptr;
  const auto row = rows->second.find(key);
  return row == rows->second.end() ? nullptr : &row->second;
}

Result<ConfigDb> parse_config_db(std::string_view text) {
  TRY(const Json json, parse_bounded_json(text, {.depth = kDepth}));
  if (!json.is_object())
    return wrong({}, std::string("the file is an object of tables, not ") + json.type_name());
  RepeatedNames repeated;
  (void)Json::sax_parse(text, &repeated);
  if (repeated.found()) return *repeated.found();
  ConfigDb config;
  for (const auto& [name, rows] : json.items()) {
    TRY(ConfigTable table, table_of(name, rows));
    if (!table.empty()) config.tables.emplace(name, std::move(table));
  }
  return config;
}

std::string config_db_json(const ConfigDb& config) {
  Json out = Json::object();
  for (const auto& [name, table] : config.tables) {
    Json& rows = out[name] = Json::object();
    for (const auto& [key, row] : table) {
      Json& fields = rows[key] = Json::object();
      for (const auto& [field, value] : row)
        std::visit([&fields, &field = field](const auto& held) { fields[field] = held; }, value);
    }
  }
  constexpr int kIndent = 4;  // as `config save` writes it
  return out.dump(kIndent, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::map<std::string, std::string> facts_of(const ConfigDb& config) {
  std::map<std::string, std::string> out;
  const ConfigRow* const metadata = config.find("DEVICE_METADATA", "localhost");
  if (metadata == nullptr) return out;
  for (const auto& [field, fact] : {std::pair{"hwsku", "model"}, {"platform", "platform"}})
    if (const auto found = metadata->find(std::string_view(field)); found != metadata->end())
      if (const auto* const text = std::get_if<std::string>(&found->second)) out[fact] = *text;
  return out;
}

std::string redis_name(std::string_view table, std::string_view key) {
  return std::string(table) + "|" + std::string(key);
}

std::optional<std::pair<std::string, std::string>> row_of_redis_name(std::string_view name) {
  const std::size_t bar = name.find('|');
  if (bar == name.npos || bar == 0 || bar + 1 == name.size()) return std::nullopt;
  return std::pair{std::string(name.substr(0, bar)), std::string(name.substr(bar + 1))};
}

Result<RedisHash> redis_hash(const ConfigRow& row) {
  if (row.empty()) return RedisHash{{std::string(kNoFields), std::string(kNoFields)}};
  RedisHash hash;
  for (const auto& [name, value] : row) {
    if (name.empty() || name == kNoFields || name.back() == kListMark)
      return Error{ErrorKind::invalid_spec, "no field can be called " + shown(name)};
    if (const auto* const text = std::get_if<std::string>(&value)) {
      hash.emplace(name, *text);
      continue;
    }
    std::string joined;
    bool first = true;
    for (const std::string& one : std::get<ConfigList>(value)) {
      if (one.find(',') != one.npos)
        return Error{ErrorKind::invalid_spec, "field " + shown(name) + ": a text of a list has a comma"};
      if (!std::exchange(first, false)) joined += ',';
      joined += one;
    }
    hash.emplace(name + kListMark, std::move(joined));
  }
  return hash;
}

Result<ConfigRow> row_of_redis_hash(const RedisHash& hash) {
  ConfigRow row;
  for (const auto& [name, value] : hash) {
    if (name == kNoFields) continue;  // with other fields as well: the row had none before
    const bool is_list = !name.empty() && name.back() == kListMark;
    const std::string field = is_list ? name.substr(0, name.size() - 1) : name;
    if (field.empty()) return Error{ErrorKind::invalid_spec, "a field without a name"};
    for (const std::string_view text : {std::string_view(field), std::string_view(value)})
      if (const std::string why = why_not_text(text); !why.empty())
        return Error{ErrorKind::invalid_spec, "field " + shown(field) + " has " + why};
    ConfigField read = value;
    if (is_list) {
      ConfigList list;
      std::size_t from = 0;
      for (std::size_t comma = value.find(','); comma != value.npos; comma = value.find(',', from)) {
        list.push_back(value.substr(from, comma - from));
        from = comma + 1;
      }
      list.push_back(value.substr(from));
      read = std::move(list);
    }
    if (!row.emplace(field, std::move(read)).second)
      return Error{ErrorKind::invalid_spec, "field " + shown(field) + " is there as a text and as a list"};
  }
  return row;
}

}  // namespace lockstep::sonic
