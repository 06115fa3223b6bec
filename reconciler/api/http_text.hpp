// The heads of HTTP answers as bytes (RFC 9112).
#pragma once

#include <ctime>
#include <string>
#include <string_view>

#include "reconciler/api/answer.hpp"

namespace lockstep::api {

// Of a whole answer: with its Content-Length. `last`: the connection ends with it.
std::string answer_head(const Answer& answer, bool last, std::time_t now);
// Of a stream of events, chunked.
std::string stream_head(std::time_t now);
std::string chunk_of(std::string_view bytes);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";
inline constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

}  // namespace lockstep::api
