// `lockstep describe`: one object of a running service in readable sections, with its events.
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "reconciler/cli/client_session.hpp"
#include "reconciler/client/object_fields.hpp"
#include "reconciler/client/object_text.hpp"

namespace lockstep {
namespace {

constexpr std::size_t kEventsShown = 20;  // the newest: a screen of them

// Events name a revision by its source alone.
std::string name_in_events(const client::KindRow& kind, const nlohmann::json& object) {
  return client::text_at(object,
                         kind.plural == client::revision_kind().plural ? "spec.source" : "metadata.name");
}

}  // namespace

int run_describe(const DescribeOptions& options, const Console& console) {
  const Result<NamedObjects> named = named_objects(options.words);
  if (!named) return console.fail_usage(named.error().text());
  if (named->names.size() != 1) return console.fail_usage("one object is described at a time: KIND NAME");
  const client::KindRow& kind = *named->kind;
  std::optional<client::ServiceClient> service = open_service(options.at, console);
  if (!service) return kExitError;
  const Result<nlohmann::json> object = service->object(kind, named->names.front(), call_of(console));
  if (!object) return console.fail(object.error());
  const std::string fields = "involvedObject.kind=" + std::string(kind.name) +
                             ",involvedObject.name=" + name_in_events(kind, *object);
  const Result<nlohmann::json> events =
      service->list(client::event_kind(), {.fields = fields}, call_of(console));
  if (!events) return console.fail(events.error());
  const nlohmann::json& items = (*events)["items"];
  std::vector<const nlohmann::json*> newest;
  for (std::size_t i = items.size() - std::min(items.size(), kEventsShown); i < items.size(); ++i)
    newest.push_back(&items[i]);
  console.print(client::object_text(kind, *object, newest, std::chrono::system_clock::now(), console.out()));
  return kExitInSync;
}

}  // namespace lockstep
