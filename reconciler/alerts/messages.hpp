// Alerts as their receivers want them: the bodies of Alertmanager's API (POST /api/v2/alerts, OpenAPI
// alertmanager/api/v2), and of a webhook after Standard Webhooks (https://www.standardwebhooks.com), with its
// signature.
//
// Promises: pure. Whatever the texts have, the bodies are JSON in UTF-8; a message is cut at kTextMax.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reconciler/alerts/outbox.hpp"
#include "specs/model/result.hpp"

namespace lockstep {

inline constexpr std::size_t kTextMax = 1024;  // a choice: what people read of an alert

struct AlertmanagerAlert {
  Alert alert;
  WallTime ends{};  // in the future: it is open, and expires then
};
std::string alertmanager_body(const std::vector<AlertmanagerAlert>& alerts);

// {"type": "lockstep.alerts", "timestamp", "data": {"dropped", "events": [...]}}; its id is a digest of the
// body.
OutMessage webhook_message(const std::vector<AlertChange>& events, std::size_t dropped, WallTime now);

// The value of the header webhook-signature: "v1," and the base64 of the HMAC-SHA256 of "ID.SECONDS.BODY".
// The key is the secret's bytes, or what its base64 says after "whsec_". Invalid spec: that is no base64.
Result<std::string> webhook_signature(const std::string& secret, const OutMessage& message,
                                      std::int64_t seconds);

}  // namespace lockstep
