// Specs that somebody asks the service to plan: the body of POST .../clusters/NAME:plan.
//
// - files: the text of each, by its path in the folder of specs ("platforms/x.yaml")
// - folder: how the author names that folder: it comes before the names of files in all that is shown
// - only: only these devices (a hostlist); details: true, as `plan --details`
// - text: "plain" or "colour": what `plan` prints comes with the answer
//
// Promises: never trusted: refused (invalid_spec), each with what is wrong: what json_body.hpp refuses;
// unknown fields; no files, or more than kProposedFilesMax; a path that leads out of the folder, into a
// hidden one, or through another of the files; texts that are not printable, or too long.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "drivers/posix/call.hpp"
#include "reconciler/service/service_status.hpp"
#include "specs/language/said.hpp"
#include "specs/model/result.hpp"

namespace lockstep::api {

// Choices: specs have some ten files; two for each device of a large cluster that lists its devices in files
// of their own. The longest path is what a file system takes (NAME_MAX, and some levels of it).
inline constexpr std::size_t kProposedFilesMax = 8'192;
// Of the body of the request: specs of 4,096 devices have 1 MiB, most of it allocations.lock.
inline constexpr std::size_t kProposedBytesMax = std::size_t{8} << 20;
inline constexpr std::size_t kProposedNameMax = 255;
inline constexpr std::size_t kProposedPathMax = 1'024;
inline constexpr std::size_t kProposedTextMax = std::size_t{64} << 10;

enum class PlanText : std::uint8_t { none, plain, colour };
constexpr auto words(PlanText) { return std::to_array<std::string_view>({"none", "plain", "colour"}); }

struct ProposedSpecs {
  std::map<std::string, std::string> files{};
  std::string folder{};
  std::string only{};
  bool details = false;
  PlanText text = PlanText::none;
};
Result<ProposedSpecs> parse_proposed_specs(std::string_view body);
// "3 files, sha256:...": for the audit log.
std::string summary_of(const ProposedSpecs& specs);

// The answer: a document of `lockstep plan -o json`.
struct PlannedProposal {
  bool valid = false;  // it is a Plan; else an Error
  std::string document{};
};
// Plans them, on the devices of the service with this status, and waits for it; any thread. Errors: why there
// is no answer (transient, unsupported).
using Planner =
    std::function<Result<PlannedProposal>(const ProposedSpecs&, const ServiceStatus&, const Call&)>;

}  // namespace lockstep::api
