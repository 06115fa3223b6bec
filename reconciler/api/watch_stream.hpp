// WatchStream: what one watch is sent, as server-sent events (WHATWG HTML 9.2): event ADDED, MODIFIED,
// DELETED, BOOKMARK or ERROR; id is the position after it ("EPOCH-SEQ"), from which a watch goes on; data is
// the object.
//
// Promises: without a position, all objects that there are come first, without ids: whoever is cut off among
// them begins anew. Then a BOOKMARK, and each change of what is selected, in order; an object that is
// selected no more is DELETED, and one that now is, is ADDED. With a position: what came after it. ERROR is
// the last event: its data is a Status, and its empty id makes the next watch begin anew. Reset (410,
// "Expired"): the position is of another start of the service, or older than what is kept, which is also how
// a reader that is too slow is cut off. A stream holds no queue of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "reconciler/api/answer.hpp"
#include "reconciler/api/event_log.hpp"
#include "reconciler/api/object_feed.hpp"
#include "reconciler/api/selectors.hpp"

namespace lockstep::api {

class WatchStream {
 public:
  struct Request {
    Kind kind{};
    Selector selector{};
    // "" or "0": from what there is; else a position.
    std::string from{};
  };
  // `log` outlives it.
  WatchStream(const EventLog& log, std::shared_ptr<const Board> board, Request request);

  // What to send next, of `most` bytes and one event at most beyond; empty: nothing has happened.
  std::string next(std::size_t most);
  // So that both ends and all between them know that the other is there, and the reader's position stays
  // young: a BOOKMARK where the position has moved since the last id, else a comment.
  std::string heartbeat();
  bool has_ended() const { return ended_; }

  static std::string error_event(Http status, std::string_view message);

 private:
  void add_first(std::string& out, std::size_t most);
  void add_changes(std::string& out, std::size_t most);
  std::string bookmark();

  const EventLog& log_;
  Request request_;
  std::shared_ptr<const Board> board_;  // while its objects are sent
  std::size_t sent_ = 0;                // of them
  std::uint64_t position_ = 0;
  std::uint64_t told_ = 0;  // the last id
  bool began_ = false;
  bool ended_ = false;
};

}  // namespace lockstep::api
