// What is in an object that came from a service: nothing of it is certain to be there, or of its type.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace lockstep::client {

// At "status.devices.known"; null: it is not there.
const nlohmann::json* find_at(const nlohmann::json& object, std::string_view path);
// A value as JSON in one line, without its end.
std::string one_line(const nlohmann::json& value);
// A text as it is, another value as JSON; empty: it is not there.
std::string text_at(const nlohmann::json& object, std::string_view path);
bool is_true_at(const nlohmann::json& object, std::string_view path);
std::size_t size_at(const nlohmann::json& object, std::string_view path);  // of a list; 0: there is none
// The condition of this type; null: it has none.
const nlohmann::json* condition_of(const nlohmann::json& object, std::string_view type);
// A revision as people name it: the first characters of its hash ("3f2a41b9c0de"); `whole`: all of it.
std::string short_revision(std::string_view name, bool whole = false);

}  // namespace lockstep::client
