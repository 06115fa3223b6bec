// Part of wire_requests.cpp, wire_answers.cpp and the agent's journal: fields of JSON objects, and what these
// hold.
#pragma once

#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/agent/wire.hpp"
#include "specs/model/schema.hpp"

namespace lockstep::wire {

using Json = nlohmann::json;

Error wrong(const std::string& what);
// What a device reports may be any bytes: what is not UTF-8 is replaced.
std::string text_of(const Json& json);
// An object with two fields of one name is refused: another reader might take the other one.
Result<Json> parsed(std::string_view body);

// Fields of an object. A field that is missing, or null, has the type's empty value, but for needed().
class Fields {
 public:
  static Result<Fields> of(const Json& json, const char* what);
  const Json* find(const char* name) const;
  Result<const Json*> needed(const char* name) const;
  Result<std::string> text(const char* name) const;
  Result<std::uint64_t> number(const char* name) const;
  Result<bool> flag(const char* name) const;
  Result<std::vector<std::string>> texts(const char* name) const;
  // What is no text is left out, and so is what exceeds 64 texts or 1024 bytes.
  Result<std::map<std::string, std::string>> named_texts(const char* name) const;
  // nullptr: it is missing.
  Result<const Json*> array(const char* name) const;

 private:
  explicit Fields(const Json& json) : json_(&json) {}
  const Json* json_;
};

template <std::size_t N>
std::optional<std::size_t> index_of(const std::array<std::string_view, N>& words, const std::string& word) {
  for (std::size_t i = 0; i < N; ++i)
    if (words[i] == word) return i;
  return std::nullopt;
}

// Names and paths, which a later comparison or a rollback must have byte by byte: text that is not UTF-8 is
// {"bytes": "61ff"}, as in value_json.hpp.
Json exact_json(std::string_view text);
Result<std::string> read_exact(const Json& json, const char* name);
Result<std::vector<std::string>> read_exact_texts(const Fields& fields, const char* name);

// The form of value_json.hpp, and one of its own for what that does not give back: a value whose kind is not
// the row's, and a secret or reference that is not UTF-8.
Json value_json(RowId row, Value value);
Result<Value> read_value(RowId row, const Json& json);

std::optional<RowId> row_of(const std::string& pattern);
Json rows_json(const std::vector<RowId>& rows);
// Rows that this version does not know are left out: the other end is newer.
Result<std::vector<RowId>> read_rows(const Fields& fields, const char* name);
// `unsupported`: it is none of a row that this version knows.
Result<Path> read_path(const Fields& fields, const char* name);

// Causes beyond a few become one text: what is nested deeper would not be read.
Json error_json(const Error& error, int causes = 0);
Result<Done> read_error(const Json& json, Error& out, int causes = 0);

}  // namespace lockstep::wire
