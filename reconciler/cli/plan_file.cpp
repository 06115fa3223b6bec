#include "reconciler/cli/plan_file.hpp"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <system_error>

namespace lockstep {
namespace {

// The reconciler's own field beside those of command-line.md ("fields may be added").
constexpr const char* kAim = "aim";

// A file is written beside and renamed, so that a plan is there whole or not at all. A device, a pipe or a
// link is written to, and stays what it is.
Result<Done> write_file(const std::string& file, const std::string& text) {
  std::error_code ignored;  // of what can't be looked at: opening it tells the reason
  const std::filesystem::file_type type = std::filesystem::symlink_status(file, ignored).type();
  const bool replaces =
      type == std::filesystem::file_type::regular || type == std::filesystem::file_type::not_found;
  const std::string place = replaces ? file + ".new" : file;
  std::FILE* const out = std::fopen(place.c_str(), "we");
  bool good = out != nullptr;
  int why = errno;
  if (out != nullptr) {
    good = std::fwrite(text.data(), 1, text.size(), out) == text.size() && std::fflush(out) == 0;
    why = errno;
    std::fclose(out);
  }
  if (good && (!replaces || std::rename(place.c_str(), file.c_str()) == 0)) return Done{};
  if (good) why = errno;
  if (out != nullptr && replaces) std::remove(place.c_str());
  return Error{ErrorKind::refused,
               "can't write the plan to " + file + ": " + std::generic_category().message(why)};
}

}  // namespace

bool is_plan_file(const std::vector<std::string>& arguments) {
  return arguments.size() == 1 && arguments.front().ends_with(".json");
}

Result<PlanFile> read_plan_file(const std::string& file) {
  std::ifstream in(file);
  if (!in) return Error{ErrorKind::invalid_spec, "can't read " + file};
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const nlohmann::json document = nlohmann::json::parse(text, nullptr, false);
  const Error not_a_plan{ErrorKind::invalid_spec, file + " is not a plan that `lockstep plan --out` wrote"};
  if (document.is_discarded() || !document.is_object() || !document.contains(kAim)) return not_a_plan;
  const nlohmann::json& aim = document[kAim];
  if (!aim.is_object() || !aim.value("specs", nlohmann::json()).is_array() ||
      !aim.value("twin", nlohmann::json()).is_boolean() ||
      !aim.value("linkRate", nlohmann::json()).is_string())
    return not_a_plan;
  PlanFile out;
  out.aim.specs.clear();
  for (const nlohmann::json& path : aim["specs"]) {
    if (!path.is_string()) return not_a_plan;
    out.aim.specs.push_back(path.get<std::string>());
  }
  out.aim.twin = aim["twin"].get<bool>();
  out.aim.link_rate = aim["linkRate"].get<std::string>();
  Result<Plan> plan = plan_from_json(document);
  if (!plan) return wrap(file, std::move(plan.error()));
  out.plan = *std::move(plan);
  return out;
}

Result<Done> write_plan_file(const std::string& file, const Aim& aim, const Plan& plan) {
  nlohmann::json document = to_json(plan);
  nlohmann::json specs = nlohmann::json::array();
  std::error_code ignored;  // a path that can't be made absolute is kept as it was given
  for (const std::string& path : aim.specs) {
    const std::filesystem::path absolute = std::filesystem::absolute(path, ignored);
    specs.push_back(absolute.empty() ? path : absolute.string());
  }
  document[kAim] = {{"specs", specs}, {"twin", aim.twin}, {"linkRate", aim.link_rate}};
  return write_file(file, document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

}  // namespace lockstep
