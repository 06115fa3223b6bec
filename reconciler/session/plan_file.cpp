#include "reconciler/session/plan_file.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "specs/files/read_file.hpp"
#include "specs/files/replace_file.hpp"
#include "specs/model/bounded_json.hpp"

namespace lockstep {
namespace {

// The reconciler's own field beside those of command-line.md ("fields may be added").
constexpr const char* kAim = "aim";

// A choice: a million settings at 200 bytes each, and some.
constexpr std::size_t kLargestPlan = std::size_t{256} << 20;

}  // namespace

bool is_plan_file(const std::vector<std::string>& arguments) {
  return arguments.size() == 1 && arguments.front().ends_with(".json");
}

Result<PlanFile> read_plan_file(const std::string& file) {
  const FileText read = read_named(file, kLargestPlan);
  if (!read) return Error{ErrorKind::invalid_spec, "can't read " + file + ": " + read.why};
  const Result<nlohmann::json> parsed = parse_bounded_json(read.text);
  const Error not_a_plan{ErrorKind::invalid_spec, file + " is not a plan that `lockstep plan --out` wrote"};
  if (!parsed) return wrap(not_a_plan.what, parsed.error());
  const nlohmann::json& document = *parsed;
  if (!document.is_object() || !document.contains(kAim)) return not_a_plan;
  const nlohmann::json& aim = document[kAim];
  if (!aim.is_object() || !aim.value("specs", nlohmann::json()).is_array() ||
      !aim.value("twin", nlohmann::json()).is_boolean() ||
      !aim.value("linkRate", nlohmann::json()).is_string())
    return not_a_plan;
  PlanFile out;
  out.source.specs.clear();
  for (const nlohmann::json& path : aim["specs"]) {
    if (!path.is_string()) return not_a_plan;
    out.source.specs.push_back(path.get<std::string>());
  }
  out.source.twin = aim["twin"].get<bool>();
  out.source.link_rate = aim["linkRate"].get<std::string>();
  Result<Plan> plan = plan_from_json(document);
  if (!plan) return wrap(file, std::move(plan.error()));
  out.plan = *std::move(plan);
  return out;
}

Result<Done> write_plan_file(const std::string& file, const ClusterSource& source, const Plan& plan) {
  nlohmann::json document = to_json(plan);
  nlohmann::json specs = nlohmann::json::array();
  std::error_code ignored;  // a path that can't be made absolute is kept as it was given
  for (const std::string& path : source.specs) {
    const std::filesystem::path absolute = std::filesystem::absolute(path, ignored);
    specs.push_back(absolute.empty() ? path : absolute.string());
  }
  document[kAim] = {{"specs", specs}, {"twin", source.twin}, {"linkRate", source.link_rate}};
  const std::string text = document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  const auto done = replace_file(file, text, {.write_through = true});
  if (!done) return Error{done.error().kind, "can't write the plan to " + done.error().what};
  return Done{};
}

}  // namespace lockstep
