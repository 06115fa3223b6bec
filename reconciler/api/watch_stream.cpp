#include "reconciler/api/watch_stream.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "specs/language/api_version.hpp"

namespace lockstep::api {
namespace {

// How long a browser waits before it connects anew. A choice: a restart takes about as long.
constexpr std::string_view kRetry = "retry: 3000\n\n";
constexpr std::size_t kEntriesAtOnce = 256;  // chosen: copies of pointers under the log's lock
constexpr const char* kReset =
    "reset: the position is not kept any more, or is of another start of the service; list and watch anew";

void add_event(std::string& out, std::string_view event, std::string_view id, std::string_view data) {
  out.append("event: ").append(event).append("\n");
  if (!id.empty()) out.append("id: ").append(id).append("\n");
  out.append("data: ").append(data).append("\n\n");
}

}  // namespace

WatchStream::WatchStream(const EventLog& log, std::shared_ptr<const Board> board, Request request)
    : log_(log), request_(std::move(request)) {
  if (request_.from.empty() || request_.from == "0") {
    position_ = board->sequence;
    board_ = std::move(board);
    return;
  }
  const std::optional<std::uint64_t> from = log_.parse(request_.from);
  ended_ = !from;
  position_ = told_ = from.value_or(0);
}

std::string WatchStream::error_event(Http status, std::string_view message) {
  return "event: ERROR\nid\ndata: " + status_json(status, message).dump() + "\n\n";
}

std::string WatchStream::bookmark() {
  told_ = position_;
  const std::string position = log_.position(position_);
  std::string out;
  add_event(out, "BOOKMARK", position,
            nlohmann::json{{"apiVersion", api_version},
                           {"kind", row_of(request_.kind).name},
                           {"metadata", {{"resourceVersion", position}}}}
                .dump());
  return out;
}

void WatchStream::add_first(std::string& out, std::size_t most) {
  const std::vector<ApiObjectPtr>& all = board_->of(request_.kind);
  for (; sent_ < all.size() && out.size() < most; ++sent_)
    if (request_.selector.selects(*all[sent_])) add_event(out, "ADDED", "", all[sent_]->text);
  if (sent_ < all.size()) return;
  board_.reset();
  out += bookmark();
}

void WatchStream::add_changes(std::string& out, std::size_t most) {
  while (out.size() < most) {
    const auto entries = log_.after(position_, kEntriesAtOnce);
    if (!entries) {
      ended_ = true;
      out += error_event(Http::gone, kReset);
      return;
    }
    if (entries->empty()) return;
    for (const LogEntry& one : *entries) {
      if (out.size() >= most) return;
      position_ = one.sequence;
      if (one.kind() != request_.kind) continue;
      const bool was = one.before && request_.selector.selects(*one.before);
      const bool is = one.now && request_.selector.selects(*one.now);
      if (!was && !is) continue;
      told_ = position_;
      add_event(out, is ? (was ? "MODIFIED" : "ADDED") : "DELETED", log_.position(position_),
                (one.now ? one.now : one.before)->text);
    }
  }
}

std::string WatchStream::next(std::size_t most) {
  std::string out;
  if (!std::exchange(began_, true)) {
    out = kRetry;
    if (ended_) out += error_event(Http::gone, kReset);
  }
  if (ended_) return out;
  if (board_) add_first(out, most);
  if (!board_) add_changes(out, most);
  return out;
}

std::string WatchStream::heartbeat() {
  return position_ != told_ && !board_ ? bookmark() : ": still here\n\n";
}

}  // namespace lockstep::api
