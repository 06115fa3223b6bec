#include "reconciler/client/object_watch.hpp"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <utility>

#include "drivers/posix/wait.hpp"
#include "reconciler/client/event_stream.hpp"
#include "specs/language/words.hpp"
#include "specs/model/bounded_json.hpp"
#include "specs/model/printable.hpp"

namespace lockstep::client {
namespace {

using Json = nlohmann::json;
using Type = ObjectChange::Type;

constexpr int kGrowMost = 30;  // of the pause between two connections: from 1 s to 30 s
constexpr int kExpired = 410;

// What tells whether an object is another than it was: with each start of a service, versions and proofs are
// anew.
void reduce_to_essence(Json& document) {
  if (document.is_object())
    for (const char* const field :
         {"resourceVersion", "generation", "observedGeneration", "observedAt", "lastTransitionTime"})
      document.erase(field);
  if (document.is_structured())
    for (Json& part : document) reduce_to_essence(part);
}
bool is_same(Json was, Json now) {
  reduce_to_essence(was);
  reduce_to_essence(now);
  return was == now;
}

class Watching {
 public:
  Watching(ServiceClient& client, const WatchRequest& request, const WatchListener& listener,
           const Call& call)
      : client_(client), request_(request), listener_(listener), call_(call) {}
  Result<Done> run();

 private:
  std::string target() const;
  // One connection, until it ends.
  Result<HttpReply> connect();
  bool take(std::string_view piece);
  bool take_event(const ServerEvent& event);
  bool take_error(const Json& status);
  bool take_object(Type type, Json object);
  bool complete();
  bool tell(Type type, const Json& object) {
    ended_ = !listener_.change({type, object});
    return !ended_;
  }
  void note(const std::string& text) const {
    if (listener_.note) listener_.note(text);
  }
  std::chrono::milliseconds pause_length();

  ServiceClient& client_;
  const WatchRequest& request_;
  const WatchListener& listener_;
  const Call& call_;
  EventStream stream_;
  std::map<std::string, Json> known_;  // by name, as told
  std::set<std::string> seen_;         // of a list that is read: those that it had so far
  std::string position_;               // empty: from what there is
  bool lists_ = true;                  // what there is comes now
  bool ever_complete_ = false;
  bool ever_connected_ = false;
  bool lost_ = false;
  bool ended_ = false;
  bool anew_ = false;
  std::optional<Error> refused_;
  int failures_ = 0;  // since all was read, or something came after it
  std::minstd_rand jitter_{static_cast<std::minstd_rand::result_type>(::getpid())};
};

std::string Watching::target() const {
  std::string out = request_.name.empty() ? list_target(request_.kind, request_.selection)
                                          : object_target(request_.kind, request_.name);
  return out + (out.find('?') == out.npos ? "?" : "&") + "watch=1";
}

bool Watching::take(std::string_view piece) {
  auto events = stream_.feed(piece);
  if (!events) {
    refused_ = events.error();
    return false;
  }
  ever_connected_ = true;
  if (std::exchange(lost_, false)) note("connected again");
  return std::ranges::all_of(*events, [this](const ServerEvent& one) { return take_event(one); });
}

bool Watching::take_event(const ServerEvent& event) {
  Result<Json> data = parse_bounded_json(event.data);
  if (!data || !data->is_object()) {
    refused_ = Error{ErrorKind::refused, client_.server() + ": an event that is no object"};
    return false;
  }
  if (event.type == "ERROR") return take_error(*data);
  position_ = event.id;
  if (!lists_ || event.type == "BOOKMARK") failures_ = 0;
  if (event.type == "BOOKMARK") return complete();
  const auto type = spelled<Type>(event.type);
  return !type || take_object(*type, *std::move(data));  // of a kind that is new to us: nothing
}

bool Watching::take_error(const Json& status) {
  const int code =
      status.contains("code") && status["code"].is_number_integer() ? status["code"].get<int>() : 0;
  position_.clear();
  anew_ = code == kExpired;
  if (!anew_) refused_ = failure_of({.status = code, .body = status.dump()}, client_.server());
  return false;
}

bool Watching::take_object(Type type, Json object) {
  if (!object.contains("metadata") || !object["metadata"].is_object()) return true;
  const auto named = object["metadata"].find("name");
  if (named == object["metadata"].end() || !named->is_string()) return true;
  const std::string name = *named;
  const auto known = known_.find(name);
  if (type == Type::deleted) {
    if (known != known_.end()) known_.erase(known);
    return tell(type, object);
  }
  if (lists_) {
    seen_.insert(name);
    if (known != known_.end() && is_same(known->second, object)) return true;
    type = known == known_.end() ? Type::added : Type::modified;
  }
  Json& kept = known_[name] = std::move(object);
  return tell(type, kept);
}

// A BOOKMARK: after what there was, and now and then.
bool Watching::complete() {
  if (!std::exchange(lists_, false)) return true;
  std::vector<std::string> gone;
  for (const auto& [name, object] : known_)
    if (!seen_.contains(name)) gone.push_back(name);
  seen_.clear();
  for (const std::string& name : gone)
    if (!tell(Type::deleted, known_.extract(name).mapped())) return false;
  if (!std::exchange(ever_complete_, true) && listener_.complete) listener_.complete();
  return true;
}

Result<HttpReply> Watching::connect() {
  stream_ = {};
  anew_ = false;
  if (position_.empty()) {
    lists_ = true;
    seen_.clear();
  }
  return client_.connection().stream({.target = target(), .last_event_id = position_}, call_,
                                     [this](std::string_view piece) { return take(piece); });
}

std::chrono::milliseconds Watching::pause_length() {
  const auto first = client_.patience().again;
  const auto length = first * std::min(kGrowMost, 1 << std::min(failures_, 5));
  // Between half of it and all of it, so that watchers do not come back at once.
  return length / 2 + std::chrono::milliseconds(jitter_() % static_cast<unsigned>(length.count() / 2 + 1));
}

Result<Done> Watching::run() {
  while (true) {
    const Result<HttpReply> reply = connect();
    if (ended_ || call_.stop.stop_requested()) return Done{};
    if (refused_) return *refused_;
    if (!reply && (!ever_connected_ || reply.error().kind == ErrorKind::denied)) return reply.error();
    if (reply && reply->status != 200) {
      const Error failure = failure_of(*reply, client_.server());
      if (!ever_connected_ || failure.kind != ErrorKind::transient) return failure;
    }
    if (anew_)
      note("the service has started anew, or much has happened: reading all anew");
    else if (!std::exchange(lost_, true))
      note("connection lost" + (reply ? std::string() : ": " + reply.error().text()) + "; trying again");
    const Result<Done> paused = pause(pause_length(), call_);
    ++failures_;
    if (!paused) return Done{};
  }
}

}  // namespace

Result<Done> watch_objects(ServiceClient& client, const WatchRequest& request, const WatchListener& listener,
                           const Call& call) {
  return Watching(client, request, listener, call).run();
}

}  // namespace lockstep::client
