#include "reconciler/client/event_stream.hpp"

#include <algorithm>

namespace lockstep::client {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

Result<std::vector<ServerEvent>> EventStream::feed(std::string_view piece) {
  std::vector<ServerEvent> out;
  while (!piece.empty()) {
    if (after_cr_ && piece.front() == '\n') piece.remove_prefix(1);
    after_cr_ = false;
    const std::size_t end = piece.find_first_of("\r\n");
    if (line_.size() + event_.data.size() + std::min(end, piece.size()) > kEventMax)
      return Error{ErrorKind::refused, "an event of more than 64 MiB"};
    line_ += piece.substr(0, end);
    if (end == piece.npos) break;
    after_cr_ = piece[end] == '\r';
    piece.remove_prefix(end + 1);
    std::string_view line = line_;
    if (!begun_ && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
    begun_ = true;
    take_line(line, out);
    line_.clear();
  }
  return out;
}

void EventStream::take_line(std::string_view line, std::vector<ServerEvent>& out) {
  if (line.empty()) {
    if (has_data_) {
      event_.data.pop_back();  // the line end after its last line
      out.push_back(event_);
    }
    event_.type.clear();
    event_.data.clear();
    has_data_ = false;
    return;
  }
  const std::size_t colon = line.find(':');
  const std::string_view name = line.substr(0, colon);
  std::string_view value = colon == line.npos ? std::string_view() : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (name == "event") {
    event_.type = value;
  } else if (name == "data") {
    event_.data.append(value).append("\n");
    has_data_ = true;
  } else if (name == "id" && value.find('\0') == value.npos) {
    event_.id = value;
  }
}

}  // namespace lockstep::client
