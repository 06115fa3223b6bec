#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "reconciler/cli/commands.hpp"
#include "reconciler/cli/former_leaves.hpp"
#include "reconciler/cli/loop_session.hpp"
#include "reconciler/cli/owed.hpp"
#include "reconciler/cli/plan_file.hpp"
#include "reconciler/report/drift_report.hpp"
#include "reconciler/report/plan_text.hpp"

namespace lockstep {
namespace {

void print_plan(const Plan& plan, const std::vector<DeviceState>& states, const Unjudged& open,
                const std::vector<WrittenLeaf>& left, const DriftReport& unmended, const LoopSession& session,
                const Console& console, bool whole) {
  const Terminal& out = console.out();
  std::string text = out.paint(Ink::bold, "plan for " + session.cluster().title()) + "\n";
  text += plan_text(plan, out) + unmended_text(unmended, out) + not_applied_text(states, out) +
          notes_text(states, out);
  const std::string nothing = !whole ? out.paint(Ink::yellow, "nothing to do in what could be observed")
                              : unmended.drifted > 0
                                  ? out.paint(Ink::yellow, "nothing to do here, and yet it differs")
                                  : out.paint(Ink::green, "nothing to do");
  text += (plan.empty() ? nothing : plan_summary(plan)) + "\n";
  if (!plan.empty()) text += out.paint(Ink::dim, plan.digest) + "\n";
  console.print(text + unjudged_text(open, out) + left_behind_text(left));
}

}  // namespace

int run_plan(const PlanOptions& options, const Console& console) {
  const std::unique_ptr<LoopSession> session = LoopSession::open(options.aim, console, options.only);
  if (!session) return kExitError;
  console.say_passing("observing " + session->cluster().title());
  const std::vector<DeviceState> states = session->look();
  console.say_passing("");
  const Result<Plan> plan = session->plan(states);
  if (!plan) return console.fail(plan.error());
  if (!options.out.empty()) {
    if (Result<Done> written = write_plan_file(options.out, options.aim, *plan); !written)
      return console.fail(written.error());
  }
  const Result<std::unique_ptr<Journal>> journal = session->read_journal();
  if (!journal) return console.fail(journal.error());
  const Result<Unjudged> open = unjudged(state_directory(session->cluster()), **journal);
  if (!open) return console.fail(open.error());
  const bool whole = session->tell_unread(states, console) == kExitInSync;
  const std::vector<WrittenLeaf> left = left_behind(*session, states, session->written());
  const DriftReport unmended = session->unmended(states, *plan);
  if (console.is_text()) {
    print_plan(*plan, states, *open, left, unmended, *session, console, whole);
  } else {
    nlohmann::json document = to_json(*plan);
    document["neverMeasured"] = owed_json(open->left);
    if (!open->writer.empty())
      document["beingChanged"] = {{"by", open->writer}, {"changes", owed_json(open->under_way)}};
    document["leftAsIs"] = left_behind_json(left);
    document["leftToAPerson"] = to_json(unmended)["items"];
    console.print_document(document);
  }
  return exit_code_of(!plan->empty() || !open->under_way.empty() || !open->left.empty(), whole);
}

}  // namespace lockstep
