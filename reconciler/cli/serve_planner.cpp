// The service's end of plan_proposal.hpp: writes the specs down, and starts the process that plans them.
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "drivers/posix/program.hpp"
#include "reconciler/cli/plan_proposal.hpp"
#include "reconciler/source/cache_folder.hpp"
#include "specs/model/printable.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::json;

// Choices. A plan of 4,096 devices takes less than a tenth of each; the memory is that of addresses, and a
// thread's stack has 8 MiB of them.
constexpr std::uint64_t kMemory = std::uint64_t{8} << 30;
constexpr int kProcessorSeconds = 300;
constexpr std::size_t kAnswerMost = std::size_t{64} << 20;  // a change has some 300 bytes
constexpr std::size_t kSaidMost = 500;                      // of a process that failed
constexpr std::chrono::minutes kPatience{10};               // for calls without a deadline

// The sanitizer's shadow takes terabytes of addresses.
#ifdef __SANITIZE_ADDRESS__
constexpr bool kBoundsMemory = false;
#else
constexpr bool kBoundsMemory = true;
#endif

// This very program, also after another version has taken its file's place.
std::string this_program() { return "/proc/" + std::to_string(::getpid()) + "/exe"; }

Program planning_program() {
  Program out{.name = "prlimit",
              .package = "util-linux",
              .words = {"--core=0", "--cpu=" + std::to_string(kProcessorSeconds)},
              .patience = kPatience,
              .own_group = true,
              .largest_output = kAnswerMost};
  if (kBoundsMemory) out.words.push_back("--as=" + std::to_string(kMemory));
  out.words.insert(out.words.end(), {this_program(), kPlanProposalWord});
  return out;
}

Result<std::shared_ptr<CacheFolder>> written_down(const api::ProposedSpecs& specs, const std::string& cache) {
  TRY(std::shared_ptr<CacheFolder> folder, CacheFolder::make(cache));
  for (const auto& [path, text] : specs.files) TRY_DONE(write_new_file(folder->path(), path, text));
  return folder;
}

std::string request_for(const api::ProposedSpecs& specs, const ServiceStatus& status, const SpecsAim& aim,
                        const std::string& folder) {
  return Json{{"service", ::getpid()},
              {"specs", folder},
              {"shown", specs.folder},
              {"inForce", status.files->path()},
              {"directory", status.directory},
              {"twin", aim.twin},
              {"standsFor", aim.stands_for},
              {"maxEntries", aim.max_entries},
              {"only", specs.only},
              {"revision", status.watched ? status.watched->source : ""},
              {"details", specs.details},
              {"text", to_string(specs.text)}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<api::PlannedProposal> answer_in(Ended ended) {
  if (ended.well && ended.out.size() == kAnswerMost)
    return Error{ErrorKind::refused, "the plan is larger than " + std::to_string(kAnswerMost >> 20) +
                                         " MiB; ask for fewer devices with `only`"};
  api::PlannedProposal out{.valid = ended.out.starts_with("plan\n")};
  const std::size_t end = ended.out.find('\n');
  if (!ended.well || (!out.valid && !ended.out.starts_with("error\n")))
    return Error{
        ErrorKind::refused,
        "the plan needs more memory or time than it may take, or is a bug: it was ended " +
            (ended.signal != 0 ? "by signal " + std::to_string(ended.signal) : std::string("early")) + "; " +
            printable(ended.complaint().substr(0, kSaidMost))};
  ended.out.erase(0, end + 1);
  out.document = std::move(ended.out);
  return out;
}

}  // namespace

api::Planner make_planner(SpecsAim aim, const std::string& cache) {
  remove_leftovers(cache);
  return [aim = std::move(aim), cache](const api::ProposedSpecs& specs, const ServiceStatus& status,
                                       const Call& call) -> Result<api::PlannedProposal> {
    if (!status.files || status.directory.empty())
      return Error{ErrorKind::transient, "no revision of the specs is in force yet; try again later"};
    TRY(const std::shared_ptr<CacheFolder> folder, written_down(specs, cache));
    TRY(Ended ended, run(planning_program(), request_for(specs, status, aim, folder->path()), call));
    return answer_in(std::move(ended));
  };
}

}  // namespace lockstep
