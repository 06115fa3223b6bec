// What a person says to a running service: approve, reject, suspend, resume, reconcile, cordon, uncordon.
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reconciler/cli/client_session.hpp"
#include "reconciler/client/object_fields.hpp"
#include "reconciler/client/step_text.hpp"
#include "reconciler/report/escape.hpp"
#include "reconciler/report/table.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::json;
using Steps = std::vector<const Json*>;

// The Status that the service answers is what a program gets.
void tell(const Console& console, const Json& status, const std::string& text) {
  if (console.is_text())
    console.print(text + "\n");
  else
    console.print_format(console.output == OutputFormat::yaml ? yaml_text(status) : json_text(status, 2));
}

Json body_of(const std::string& reason) { return reason.empty() ? Json::object() : Json{{"reason", reason}}; }

bool begins(const std::string& digest, const std::string& start) {
  return digest.starts_with(start) || digest.starts_with("sha256:" + start);
}

// Of the steps that wait, those that these starts of digests name; without any: all.
Result<Steps> chosen_steps(const Json& waiting, const std::vector<std::string>& starts) {
  Steps out;
  for (const Json& step : waiting)
    if (starts.empty()) out.push_back(&step);
  for (const std::string& start : starts) {
    const Json* found = nullptr;
    for (const Json& step : waiting) {
      if (!begins(client::text_at(step, "digest"), start)) continue;
      if (found != nullptr)
        return Error{ErrorKind::invalid_spec, "more than one step that waits begins with '" + start + "'"};
      found = &step;
    }
    if (found == nullptr)
      return Error{ErrorKind::conflict,
                   "no step that waits begins with '" + start + "'; review the revision again"};
    if (std::ranges::find(out, found) == out.end()) out.push_back(found);
  }
  return out;
}

void show(const Console& console, const Json& revision, const Steps& steps, std::size_t waiting) {
  if (!console.is_text()) return;
  const Terminal terminal = console.out().whole();
  console.print(
      compose("revision {}", terminal.paint(Ink::bold, client::text_at(revision, "metadata.name"))) +
      compose("  {}  {}\n", client::text_at(revision, "spec.author"),
              client::text_at(revision, "spec.subject")) +
      client::steps_text(steps, terminal));
  if (steps.size() < waiting)
    console.print(counted(waiting - steps.size(), "other step") + " of it will still wait\n");
}

// None: yes. Else the exit code.
std::optional<int> not_confirmed(const ApproveOptions& options, std::size_t steps, const Console& console) {
  if (options.yes) return std::nullopt;
  if (::isatty(STDIN_FILENO) == 0 || !console.is_text())
    return console.fail(Error{ErrorKind::denied, "nobody is there to ask: pass --yes"});
  const Result<bool> answer = console.ask("approve " + counted(steps, "step") + "?");
  if (!answer) return console.fail(answer.error());
  if (*answer) return std::nullopt;
  console.note("nothing was approved");
  return kExitDifferent;
}

// "suspended", "resumed".
std::string done_word(const std::string& word) { return word + (word.ends_with('e') ? "d" : "ed"); }

std::size_t waiting_in_all(const Json& revision, std::size_t shown) {
  const Json* const all = client::find_at(revision, "status.waitingInAll");
  return all != nullptr && all->is_number_unsigned() ? all->get<std::size_t>() : shown;
}

}  // namespace

int run_approve(const ApproveOptions& options, const Console& console) {
  std::optional<client::ServiceClient> service = open_service(options.at, console);
  if (!service) return kExitError;
  const Result<Json> revision = service->object(client::revision_kind(), options.revision, call_of(console));
  if (!revision) return console.fail(revision.error());
  const std::string name = client::text_at(*revision, "metadata.name");
  const Json* const waiting = client::find_at(*revision, "status.waiting");
  if (waiting == nullptr || !waiting->is_array() || waiting->empty())
    return console.fail(Error{ErrorKind::conflict, "nothing of revision " + name +
                                                       " waits for an approval: it is " +
                                                       client::text_at(*revision, "status.state")});
  const Result<Steps> steps = chosen_steps(*waiting, options.steps);
  if (!steps) return console.fail(steps.error());
  show(console, *revision, *steps, waiting_in_all(*revision, waiting->size()));
  if (const auto code = not_confirmed(options, steps->size(), console)) return *code;
  Json body = body_of(options.reason);
  // Exactly these: what else comes to wait meanwhile was not seen by anybody.
  for (const Json* const step : *steps) body["steps"].push_back(client::text_at(*step, "digest"));
  const Result<Json> done = service->act(client::revision_kind(), name, "approve", body, call_of(console));
  if (!done) return console.fail(done.error());
  tell(console, *done, compose("approved: {} of revision {}", counted(steps->size(), "step"), name));
  return kExitInSync;
}

int run_reject(const SayOptions& options, const Console& console) {
  std::optional<client::ServiceClient> service = open_service(options.at, console);
  if (!service) return kExitError;
  const Result<Json> revision =
      service->object(client::revision_kind(), options.names.front(), call_of(console));
  if (!revision) return console.fail(revision.error());
  const std::string name = client::text_at(*revision, "metadata.name");
  const Result<Json> done =
      service->act(client::revision_kind(), name, "reject", body_of(options.reason), call_of(console));
  if (!done) return console.fail(done.error());
  tell(console, *done, compose("rejected: revision {}", name));
  return kExitInSync;
}

int run_on_cluster(const SayOptions& options, const std::string& word, const Console& console) {
  std::optional<client::ServiceClient> service = open_service(options.at, console);
  if (!service) return kExitError;
  const Result<std::string> name = service->cluster_name(call_of(console));
  if (!name) return console.fail(name.error());
  const Result<Json> done =
      service->act(client::cluster_kind(), *name, word, body_of(options.reason), call_of(console));
  if (!done) return console.fail(done.error());
  tell(console, *done, compose("{}: cluster {}", done_word(word), *name));
  return kExitInSync;
}

int run_on_devices(const SayOptions& options, const std::string& word, const Console& console) {
  std::optional<client::ServiceClient> service = open_service(options.at, console);
  if (!service) return kExitError;
  for (const std::string& name : options.names) {
    const Result<Json> done =
        service->act(client::device_kind(), name, word, body_of(options.reason), call_of(console));
    if (!done) return console.fail(done.error());
    tell(console, *done, compose("{}: device {}", done_word(word), name));
  }
  return kExitInSync;
}

}  // namespace lockstep
