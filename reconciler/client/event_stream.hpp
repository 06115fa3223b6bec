// EventStream: server-sent events (WHATWG HTML 9.2.6) out of the pieces in which they come.
//
// Promises: pieces may be cut anywhere; lines end by LF, CR or CRLF. An event without data is none; `retry`
// is passed over, as pauses grow (object_watch.hpp). Refused
// (refused): more than kEventMax bytes without an event's end.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "specs/model/result.hpp"

namespace lockstep::client {

inline constexpr std::size_t kEventMax = std::size_t{64} << 20;  // one object has some MB

struct ServerEvent {
  std::string type;
  std::string data;
  std::string id;  // the last one that came until it, whether with it or before
};

class EventStream {
 public:
  Result<std::vector<ServerEvent>> feed(std::string_view piece);

 private:
  void take_line(std::string_view line, std::vector<ServerEvent>& out);

  std::string line_;  // that has not ended yet
  ServerEvent event_{};
  bool has_data_ = false;
  bool after_cr_ = false;
  bool begun_ = false;
};

}  // namespace lockstep::client
