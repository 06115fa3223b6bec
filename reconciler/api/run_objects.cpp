// BenchmarkRun of objects.hpp.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reconciler/api/condition_json.hpp"
#include "reconciler/api/kinds.hpp"
#include "reconciler/api/objects.hpp"
#include "reconciler/report/run_report.hpp"
#include "specs/language/api_version.hpp"

namespace lockstep::api {
namespace {

nlohmann::json figure_json(const RunFigure& figure) {
  const auto number = [](const std::optional<double>& value) {
    return value ? nlohmann::json(*value) : nlohmann::json();
  };
  nlohmann::json out = subject_json(figure);
  out["unit"] = figure.unit;
  out["samples"] = figure.seen.count;
  out["min"] = number(figure.seen.least);
  out["median"] = number(figure.seen.median);
  out["max"] = number(figure.seen.most);
  out["nominal"] = number(figure.nominal);
  if (figure.control) out["control"] = true;
  if (!figure.why.empty()) out["message"] = figure.why;
  return out;
}

// A run is over when it is stored.
nlohmann::json run_conditions(const RunHead& run, std::uint64_t generation) {
  nlohmann::json out = nlohmann::json::array();
  const auto add = [&](const char* type, const char* status, const char* reason, const std::string& message) {
    out.push_back(condition_json(type, status, reason, message, generation, run.at));
    out.back()["observedAt"] = run.at;
  };
  add("Ready", "True", "Measured", "");
  if (run.verdict == "pass")
    add("Validated", "True", "ObjectivesHold", run.verdict);
  else if (run.verdict == "fail")
    add("Validated", "False", "ObjectivesFailed", run.verdict);
  else
    add("Validated", "Unknown", "NotJudged", run.verdict);
  return out;
}

}  // namespace

nlohmann::json run_object(const RunHead& run, const std::vector<RunFigure>* figures, const ObjectMeta& meta) {
  nlohmann::json told = lockstep::run_json(run);
  nlohmann::json out{
      {"apiVersion", api_version},
      {"kind", row_of(Kind::benchmark_run).name},
      {"metadata",
       {{"name", std::to_string(run.number)},
        {"generation", meta.generation},
        {"resourceVersion", meta.resource_version},
        {"creationTimestamp", run.at}}},
      {"spec", {{"purpose", told["purpose"]}, {"author", told["author"]}, {"command", told["command"]}}}};
  nlohmann::json& now = out["status"];
  for (const char* const field : {"verdict", "at", "change", "newestChange", "configHash", "version",
                                  "kernel", "figures", "figuresKept"})
    now[field] = std::move(told[field]);
  now["conditions"] = run_conditions(run, meta.generation);
  if (figures == nullptr) return out;
  now["measured"] = nlohmann::json::array();
  for (std::size_t i = 0; i < std::min(figures->size(), kFiguresShown); ++i)
    now["measured"].push_back(figure_json((*figures)[i]));
  return out;
}

}  // namespace lockstep::api
