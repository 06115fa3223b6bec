// A stored document with random damage: values of other types, missing and doubled elements, lost bytes.
#pragma once

#include <rapidcheck.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace lockstep {

inline nlohmann::json any_junk() {
  using Json = nlohmann::json;
  static const std::vector<Json> junk{nullptr,
                                      true,
                                      false,
                                      -1,
                                      0,
                                      1,
                                      1e300,
                                      0.5,
                                      "",
                                      "kept",
                                      "running",
                                      Json::array(),
                                      Json::object(),
                                      {{"a", 1}},
                                      {1, "b", {}},
                                      18'446'744'073'709'551'615U,
                                      INT64_MIN,
                                      INT64_MAX};
  return junk[*rc::gen::inRange<std::size_t>(0, junk.size())];
}

inline void damage_somewhere(nlohmann::json& at) {
  const bool deeper = at.is_structured() && !at.empty() && *rc::gen::inRange(0, 5) > 0;
  if (!deeper) {
    at = any_junk();
    return;
  }
  auto child = std::next(at.begin(), *rc::gen::inRange<std::ptrdiff_t>(0, std::ssize(at)));
  switch (*rc::gen::inRange(0, 8)) {
    case 0: at.erase(child); break;
    case 1:
      if (at.is_array()) at.push_back(nlohmann::json(*child));
      break;
    default: damage_somewhere(*child);
  }
}

inline nlohmann::json damaged_document(const nlohmann::json& whole) {
  if (*rc::gen::inRange(0, 4) == 0) {
    std::string text = whole.dump();
    const std::size_t at = *rc::gen::inRange<std::size_t>(0, text.size());
    text.erase(at, *rc::gen::inRange<std::size_t>(1, 9));
    return nlohmann::json::parse(text, nullptr, false);  // "discarded" where it is no JSON any more
  }
  nlohmann::json out = whole;
  for (int rounds = *rc::gen::inRange(1, 4); rounds > 0; --rounds) damage_somewhere(out);
  return out;
}

}  // namespace lockstep
