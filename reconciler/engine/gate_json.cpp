#include "reconciler/engine/gate_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "specs/model/bounded_json.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, 4> kStates{"holds", "broken", "unknown", "none"};

Json figure_json(const GateFigure& one) {
  Json out{{"subject", one.subject}, {"state", kStates[static_cast<std::size_t>(one.state)]}};
  if (one.figure) out["figure"] = *one.figure;
  if (one.noise != 0) out["noise"] = one.noise;
  if (one.cpu) out["cpu"] = *one.cpu;
  if (!one.terms.empty()) out["terms"] = one.terms;
  if (!one.why.empty()) out["why"] = one.why;
  return out;
}

Json list_json(const std::vector<GateFigure>& all) {
  Json out = Json::array();
  for (const GateFigure& one : all) out.push_back(figure_json(one));
  return out;
}

Error wrong(const std::string& what) { return {ErrorKind::invalid_spec, what}; }

// None: the field is missing.
Result<std::optional<double>> number_in(const Json& json, const char* name) {
  if (!json.contains(name)) return std::optional<double>();
  const Json& one = json[name];
  if (!one.is_number() || !std::isfinite(one.get<double>()) || one.get<double>() < 0)
    return wrong(fmt::format("'{}' is no number from 0 on", name));
  return std::optional(one.get<double>());
}

Result<std::string> text_in(const Json& json, const char* name) {
  if (!json.contains(name)) return std::string();
  if (!json[name].is_string()) return wrong(fmt::format("'{}' is no text", name));
  return json[name].get<std::string>();
}

Result<GateFigure> figure_of(const Json& json) {
  if (!json.is_object()) return wrong("it is no object");
  GateFigure out;
  TRY(out.subject, text_in(json, "subject"));
  if (out.subject.empty()) return wrong("'subject' is missing");
  TRY(const std::string state, text_in(json, "state"));
  const auto* const known = std::find(kStates.begin(), kStates.end(), state);
  if (known == kStates.end()) return wrong("'state' is none that this version knows");
  out.state = static_cast<SloState>(known - kStates.begin());
  TRY(out.figure, number_in(json, "figure"));
  TRY(const std::optional<double> noise, number_in(json, "noise"));
  out.noise = noise.value_or(0);
  TRY(out.cpu, number_in(json, "cpu"));
  TRY(out.terms, text_in(json, "terms"));
  TRY(out.why, text_in(json, "why"));
  return out;
}

Result<std::vector<GateFigure>> list_of(const Json& json, const char* name) {
  if (!json.is_object() || !json.contains(name) || !json[name].is_array())
    return wrong(fmt::format("'{}' is missing", name));
  std::vector<GateFigure> out;
  for (const Json& one : json[name]) {
    Result<GateFigure> figure = figure_of(one);
    if (!figure) return wrap(fmt::format("{}[{}]", name, out.size()), std::move(figure.error()));
    out.push_back(*std::move(figure));
  }
  return out;
}

}  // namespace

// Bytes from a device that are not UTF-8 become U+FFFD: JSON can't express them.
std::string text_of(const GateMeasurement& measured) {
  const Json out{{"figures", list_json(measured.figures)}, {"controls", list_json(measured.controls)}};
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<GateMeasurement> measurement_of(std::string_view text) {
  TRY(const Json json, parse_bounded_json(text));
  GateMeasurement out;
  TRY(out.figures, list_of(json, "figures"));
  TRY(out.controls, list_of(json, "controls"));
  return out;
}

}  // namespace lockstep
