#include "reconciler/alerts/http_post.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <memory>

#include "specs/model/printable.hpp"

namespace lockstep {
namespace {

constexpr std::chrono::milliseconds kConnectTime{5'000};  // as long as a handshake of the API may take

struct Free {
  void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using Headers = std::unique_ptr<curl_slist, Free>;

std::size_t keep_answer(char* data, std::size_t, std::size_t size, void* into) {
  auto& out = *static_cast<std::string*>(into);
  out.append(data, std::min(size, kAnswerMax - std::min(kAnswerMax, out.size())));
  return size;
}

int stop_asked(void* stop, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<const std::stop_token*>(stop)->stop_requested() ? 1 : 0;
}

Headers headers_of(const HttpPost& request) {
  Headers out;
  const auto add = [&](const std::string& line) {
    if (curl_slist* const longer = curl_slist_append(out.get(), line.c_str()); longer != nullptr) {
      (void)out.release();
      out.reset(longer);
    }
  };
  add("Content-Type: application/json");
  add("Expect:");  // no wait for 100-continue
  for (const std::string& line : request.headers) add(line);
  return out;
}

std::string first_line(const std::string& text) {
  return printable(text.substr(0, text.find_first_of("\r\n")));
}

}  // namespace

HttpAnswer http_post(const HttpPost& request, const std::stop_token& stop) {
  static const CURLcode kReady = curl_global_init(CURL_GLOBAL_DEFAULT);
  const std::unique_ptr<CURL, Free> curl(kReady == CURLE_OK ? curl_easy_init() : nullptr);
  if (!curl) return {.why = "libcurl is not available"};
  const Headers headers = headers_of(request);
  std::array<char, CURL_ERROR_SIZE> error{};
  std::string said;
  CURL* const c = curl.get();
  curl_easy_setopt(c, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(c, CURLOPT_POST, 1L);
  curl_easy_setopt(c, CURLOPT_POSTFIELDS, request.body.data());
  curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
  curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(c, CURLOPT_USERAGENT, "lockstep");
  curl_easy_setopt(c, CURLOPT_PROXY, "");
  if (!request.ca_file.empty()) curl_easy_setopt(c, CURLOPT_CAINFO, request.ca_file.c_str());
  curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, static_cast<long>(request.timeout.count()));
  curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS,
                   static_cast<long>(std::min(kConnectTime, request.timeout).count()));
  curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(c, CURLOPT_QUICK_EXIT, 1L);  // no wait for a name server that does not answer
  curl_easy_setopt(c, CURLOPT_ERRORBUFFER, error.data());
  curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, keep_answer);
  curl_easy_setopt(c, CURLOPT_WRITEDATA, &said);
  curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, stop_asked);
  curl_easy_setopt(c, CURLOPT_XFERINFODATA, &stop);
  const CURLcode code = curl_easy_perform(c);
  if (code != CURLE_OK) return {.why = printable(error[0] != '\0' ? error.data() : curl_easy_strerror(code))};
  HttpAnswer out;
  long status = 0;
  curl_off_t retry_after = 0;
  curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
  curl_easy_getinfo(c, CURLINFO_RETRY_AFTER, &retry_after);
  out.status = static_cast<int>(status);
  if (retry_after > 0) out.retry_after = std::chrono::seconds(retry_after);
  out.why = first_line(said);
  return out;
}

}  // namespace lockstep
