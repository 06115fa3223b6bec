#include "reconciler/session/plan_file.hpp"

#include <nlohmann/json.hpp>
#include <optional>

#include "reconciler/engine/digest.hpp"
#include "reconciler/session/plan_signature.hpp"
#include "specs/files/absolute_path.hpp"
#include "specs/files/read_file.hpp"
#include "specs/files/replace_file.hpp"
#include "specs/model/bounded_json.hpp"

namespace lockstep {
namespace {

// The reconciler's own field beside those of command-line.md ("fields may be added").
constexpr const char* kAim = "aim";
constexpr const char* kFileDigest = "fileDigest";
constexpr const char* kSignature = ".sig";  // as ssh-keygen names it

Result<Done> write_named(const std::string& file, const std::string& text) {
  const auto done = replace_file(file, text, {.write_through = true});
  if (!done) return Error{done.error().kind, "can't write the plan to " + done.error().what};
  return Done{};
}

std::string text_of(const nlohmann::json& document) {
  return document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

nlohmann::json document_of(const PlanFile& file) {
  nlohmann::json document = to_json(file.plan);
  document[kAim] = {{"specs", file.aim.source.specs},
                    {"twin", file.aim.source.twin},
                    {"linkRate", file.aim.source.link_rate},
                    {"renumber", file.aim.source.renumber},
                    {"only", file.aim.only},
                    {"cluster", file.aim.cluster}};
  Digest digest;
  digest.add(text_of(document));
  document[kFileDigest] = digest.finish();
  return document;
}

// Nothing: it is not in the form that lockstep writes. By reference throughout: copying a value is recursive,
// and its writer chooses the depth.
std::optional<PlanAim> read_aim(const nlohmann::json& document) {
  const nlohmann::json none;
  const auto field = [&none](const nlohmann::json& in, const char* name) -> const nlohmann::json& {
    const auto found = in.find(name);
    return found == in.end() ? none : *found;
  };
  const nlohmann::json& aim = field(document, kAim);
  const auto of = [&](const char* name) -> const nlohmann::json& { return field(aim, name); };
  if (!aim.is_object() || !of("specs").is_array() || of("specs").empty() || !of("twin").is_boolean() ||
      !of("linkRate").is_string() || !of("renumber").is_boolean() || !of("only").is_string() ||
      !of("cluster").is_string())
    return std::nullopt;
  PlanAim out;
  out.source.specs.clear();
  for (const nlohmann::json& path : of("specs")) {
    if (!path.is_string()) return std::nullopt;
    out.source.specs.push_back(path.get<std::string>());
  }
  out.source.twin = of("twin").get<bool>();
  out.source.link_rate = of("linkRate").get<std::string>();
  out.source.renumber = of("renumber").get<bool>();
  out.only = of("only").get<std::string>();
  out.cluster = of("cluster").get<std::string>();
  return out;
}

// A choice: a million settings at 200 bytes each, and some.
constexpr std::size_t kLargestPlan = std::size_t{256} << 20;

}  // namespace

bool is_plan_file(const std::vector<std::string>& arguments) {
  return arguments.size() == 1 && arguments.front().ends_with(".json");
}

Result<PlanFile> read_plan_file(const std::string& file, const std::string& allowed_signers) {
  const FileText read = read_named(file, kLargestPlan);
  if (!read) return Error{ErrorKind::invalid_spec, "can't read " + file + ": " + read.why};
  std::string approved_by;
  if (!allowed_signers.empty()) {
    TRY(approved_by, verify_plan_signature(read.text, file + kSignature, allowed_signers));
  }
  const Result<nlohmann::json> parsed = parse_bounded_json(read.text);
  const Error not_a_plan{ErrorKind::invalid_spec, file + " is not a plan that `lockstep plan --out` wrote"};
  if (!parsed) return wrap(not_a_plan.what, parsed.error());
  const nlohmann::json& document = *parsed;
  if (!document.is_object()) return not_a_plan;
  const std::optional<PlanAim> aim = read_aim(document);
  if (!aim) return not_a_plan;
  Result<Plan> plan = plan_from_json(document);
  if (!plan) return wrap(file, std::move(plan.error()));
  PlanFile out{*aim, *std::move(plan), approved_by};
  // Content without a place in a plan was not read: it makes the document differ, too.
  if (document_of(out) != document)
    return Error{
        ErrorKind::invalid_spec,
        file + ": the plan file is broken: its digest does not fit what it says: it was edited or cut"};
  return out;
}

Result<Done> write_plan_file(const std::string& file, const PlanAim& aim, const Plan& plan,
                             const std::string& key) {
  PlanFile out{aim, with_whole_file_names(plan), ""};
  for (std::string& path : out.aim.source.specs) {
    if (path == "-")
      return Error{ErrorKind::invalid_spec,
                   "a plan file names its specs, and these came from standard input: put them in a file"};
    path = absolute_path(path);
  }
  const std::string text = text_of(document_of(out));
  if (key.empty()) return write_named(file, text);
  TRY(const std::string signature, sign_plan(text, key));
  TRY_DONE(write_named(file, text));
  return write_named(file + kSignature, signature);
}

Plan with_whole_file_names(Plan plan) {
  for (PlanOrigin& origin : plan.origins)
    if (!origin.file.empty()) origin.file = absolute_path(origin.file);
  return plan;
}

}  // namespace lockstep
