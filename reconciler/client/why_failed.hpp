// Why a request got no answer, in words that say what to do.
#pragma once

#include <curl/curl.h>

#include <string>

#include "reconciler/client/connection.hpp"

namespace lockstep::client {

struct Failure {
  CURLcode code = CURLE_OK;
  std::string said{};    // libcurl's own words; may be empty
  int system_error = 0;  // errno of what failed; 0: none
  bool was_sent = false;
  // By TLS 1.3 a server refuses a certificate after the client has sent its request, and reads nothing of it.
  bool is_alert() const { return code == CURLE_RECV_ERROR && said.find("alert") != said.npos; }
};
Error why_failed(const Endpoint& endpoint, const Failure& failure);

}  // namespace lockstep::client
