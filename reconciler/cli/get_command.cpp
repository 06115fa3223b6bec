// `lockstep get` and `lockstep events`: the objects of a running service.
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "reconciler/cli/client_session.hpp"
#include "reconciler/client/object_fields.hpp"
#include "reconciler/client/object_form.hpp"
#include "reconciler/client/object_table.hpp"
#include "reconciler/client/object_watch.hpp"

namespace lockstep {
namespace {

using client::ObjectForm;
using Json = nlohmann::json;
using Objects = std::vector<const Json*>;

WallTime now() { return std::chrono::system_clock::now(); }

class Getting {
 public:
  Getting(const GetOptions& options, const NamedObjects& named, ObjectForm form, const Console& console)
      : options_(options),
        kind_(*named.kind),
        named_(named.names),
        form_(std::move(form)),
        console_(console),
        table_(kind_, form_.kind == ObjectForm::Kind::wide, console.out()) {}

  int run(client::ServiceClient& service);

 private:
  Result<Json> read(client::ServiceClient& service) const;
  Result<Done> print(const Json& document);
  int watch(client::ServiceClient& service);
  bool take(const client::ObjectChange& change);
  void begin();
  void order(Objects& all) const;
  std::string row(const client::ObjectChange& change);
  client::Selection selection() const {
    return {.labels = options_.labels, .fields = options_.fields, .limit = options_.limit};
  }

  const GetOptions& options_;
  const client::KindRow& kind_;
  const std::vector<std::string> named_;
  const ObjectForm form_;
  const Console& console_;
  client::ObjectTable table_;
  std::vector<Json> first_;  // of a watch, until all that there is has come
  bool begun_ = false;
  std::optional<Error> failed_;
};

Result<Json> Getting::read(client::ServiceClient& service) const {
  if (named_.empty()) return service.list(kind_, selection(), call_of(console_));
  if (named_.size() == 1) return service.object(kind_, named_.front(), call_of(console_));
  Json out{{"apiVersion", "v1"}, {"kind", "List"}, {"metadata", Json::object()}, {"items", Json::array()}};
  for (const std::string& name : named_) {
    TRY(Json one, service.object(kind_, name, call_of(console_)));
    out["items"].push_back(std::move(one));
  }
  return out;
}

Result<Done> Getting::print(const Json& document) {
  if (!form_.is_table()) {
    TRY(const std::string text, client::printed(form_, kind_, document));
    console_.print_format(text);
    return Done{};
  }
  Objects all;
  if (const Json* const items = client::find_at(document, "items"); items != nullptr && items->is_array())
    for (const Json& item : *items) all.push_back(&item);
  else
    all.push_back(&document);
  if (named_.empty() && options_.sort_by.empty()) order(all);
  if (all.empty())
    console_.note("there are no " + std::string(kind_.plural) +
                  (options_.labels.empty() && options_.fields.empty() ? "" : " that are selected"));
  else
    console_.print(options_.no_headers ? table_.rows(all, now()) : table_.table(all, now()));
  return Done{};
}

// Names of revisions are hashes: a table has those last whose state is the newest.
void Getting::order(Objects& all) const {
  if (kind_.plural == client::revision_kind().plural)
    std::ranges::stable_sort(all, {}, [](const Json* one) { return client::text_at(*one, "status.since"); });
}

std::string Getting::row(const client::ObjectChange& change) {
  std::string line = table_.rows({&change.object}, now());
  if (options_.watch_types) return pad(to_string(change.type), 8) + "  " + line;
  if (change.type == client::ObjectChange::Type::deleted) line.insert(line.size() - 1, "  (deleted)");
  return line;
}

bool Getting::take(const client::ObjectChange& change) {
  const bool deleted = change.type == client::ObjectChange::Type::deleted;
  if (deleted && kind_.plural == client::event_kind().plural) return true;  // it is only kept no more
  if (form_.is_table() && !begun_) {
    first_.push_back(change.object);
    return true;
  }
  if (form_.is_table()) {
    console_.print(row(change));
    return !console_.reader_is_gone();
  }
  Json event;
  if (options_.watch_types) event = {{"type", to_string(change.type)}, {"object", change.object}};
  const auto text = client::printed_change(form_, kind_, options_.watch_types ? event : change.object);
  if (!text) {
    failed_ = text.error();
    return false;
  }
  console_.print_format(*text);
  return !console_.reader_is_gone();
}

// All that there is has come: one table of it.
void Getting::begin() {
  begun_ = true;
  if (!form_.is_table()) return;
  Objects all;
  for (const Json& one : first_) all.push_back(&one);
  order(all);
  std::string text = options_.no_headers ? table_.rows(all, now()) : table_.table(all, now());
  if (options_.watch_types) {
    std::string marked;
    for (bool header = !options_.no_headers; !text.empty(); header = false) {
      const std::size_t end = text.find('\n') + 1;
      marked += pad(header ? "EVENT" : "ADDED", 8) + "  " + text.substr(0, end);
      text.erase(0, end);
    }
    text = std::move(marked);
  }
  console_.print(text);
  first_.clear();
}

int Getting::watch(client::ServiceClient& service) {
  client::WatchRequest request{.kind = kind_, .selection = selection()};
  if (!named_.empty()) {
    const Result<Json> object = service.object(kind_, named_.front(), call_of(console_));
    if (!object) return console_.fail(object.error());
    request.name = client::text_at(*object, "metadata.name");
  }
  const Result<Done> ended =
      client::watch_objects(service, request,
                            {.change = [this](const client::ObjectChange& change) { return take(change); },
                             .complete = [this] { begin(); },
                             .note = [this](const std::string& text) { console_.note(printable(text)); }},
                            call_of(console_));
  if (failed_) return console_.fail(*failed_);
  return ended ? kExitInSync : console_.fail(ended.error());
}

int Getting::run(client::ServiceClient& service) {
  if (options_.watch) return watch(service);
  Result<Json> document = read(service);
  if (!document) return console_.fail(document.error());
  if (!options_.sort_by.empty() && document->contains("items"))
    if (const Result<Done> sorted = client::sort_items(*document, options_.sort_by); !sorted)
      return console_.fail_usage(sorted.error().text());
  const Result<Done> done = print(*document);
  return done ? kExitInSync : console_.fail(done.error());
}

// What does not go together; empty: all does.
std::string contradiction(const GetOptions& options, const ObjectForm& form,
                          const std::vector<std::string>& names) {
  if (!names.empty() && (!options.labels.empty() || !options.fields.empty() || options.limit != 0))
    return "selectors and --limit are for lists, and not for objects that are named";
  if (options.watch && names.size() > 1) return "--watch is for a list, or for one object";
  if (options.watch && (options.limit != 0 || !options.sort_by.empty()))
    return "--watch tells what happens as it happens: without --limit and --sort-by";
  if (options.watch_types && !options.watch) return "--output-watch-events is for --watch";
  if (options.watch_types && (form.kind == ObjectForm::Kind::name || form.kind == ObjectForm::Kind::jsonpath))
    return "--output-watch-events is for -o text, wide, json and yaml";
  return "";
}

}  // namespace

std::string wrong_object_form(const std::string& form) {
  const Result<ObjectForm> parsed = client::parse_object_form(form);
  return parsed ? "" : parsed.error().text();
}

int run_get(const GetOptions& options, const Console& console) {
  if (!options.words.empty() && options.words.front() == "counters")
    return run_get_counters(options, console);
  Result<ObjectForm> form = client::parse_object_form(options.form);
  if (!form) return console.fail_usage(form.error().text());
  const Result<NamedObjects> named = named_objects(options.words);
  if (!named) return console.fail_usage(named.error().text());
  if (const std::string wrong = contradiction(options, *form, named->names); !wrong.empty())
    return console.fail_usage(wrong);
  std::optional<client::ServiceClient> service = open_service(options.at, console);
  if (!service) return kExitError;
  return Getting(options, *named, *std::move(form), console).run(*service);
}

int run_events(const EventsOptions& options, const Console& console) {
  GetOptions get = options.get;
  get.words = {std::string(client::event_kind().plural)};
  const auto require = [&get](const std::string& field, const std::string& value) {
    get.fields += (get.fields.empty() ? "" : ",") + field + "=" + value;
  };
  if (!options.of.empty()) {
    const Result<NamedObjects> named = named_objects({options.of});
    if (!named || named->names.size() != 1) return console.fail_usage("--for is not KIND/NAME");
    require("involvedObject.kind", std::string(named->kind->name));
    require("involvedObject.name", named->names.front());
  }
  if (!options.type.empty()) require("type", options.type);
  return run_get(get, console);
}

}  // namespace lockstep
