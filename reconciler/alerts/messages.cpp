#include "reconciler/alerts/messages.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <nlohmann/json.hpp>

#include "reconciler/engine/digest.hpp"
#include "reconciler/store/utc_text.hpp"
#include "specs/model/printable.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kRunbook = "file:///usr/share/doc/lockstep/docs/alerts.md#";
constexpr std::string_view kWhsec = "whsec_";  // how Standard Webhooks marks secrets in base64
constexpr std::string_view kIdPrefix = "msg_";

std::string dumped(const Json& document) {
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string text_of(const std::string& text) {
  const std::string whole = printable(text);
  return whole.size() <= kTextMax ? whole : whole.substr(0, kTextMax) + "...";
}

std::string runbook_of(const Alert& alert) {
  std::string out(kRunbook);
  for (const char c : alert.name()) out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

// What follows the slash of "Device/gpu1".
std::string name_of(const std::string& object) { return object.substr(object.find('/') + 1); }

Json alertmanager_json(const AlertmanagerAlert& one) {
  const Alert& alert = one.alert;
  Json labels{
      {"alertname", alert.name()}, {"cluster", printable(alert.cluster)}, {"severity", alert.severity()}};
  if (alert.kind == AlertKind::drift) labels["device"] = printable(name_of(alert.object));
  if (alert.kind == AlertKind::gate_refused || alert.kind == AlertKind::approval_waiting)
    labels["revision"] = printable(name_of(alert.object));
  if (alert.kind == AlertKind::slo_broken) labels["suite"] = printable(name_of(alert.object));
  if (!alert.reason.empty()) labels["reason"] = alert.reason;
  return {{"labels", std::move(labels)},
          {"annotations",
           {{"summary", text_of(alert.object + ": " + alert.message)}, {"runbook_url", runbook_of(alert)}}},
          {"startsAt", utc_text(alert.since)},
          {"endsAt", utc_text(one.ends)}};
}

Json event_json(const AlertChange& change) {
  const Alert& alert = change.alert;
  const char* const event = change.opened ? "opened" : "closed";
  return {{"id", alert.id() + "." + event},    {"event", event},
          {"at", utc_text(change.at)},         {"alert", alert.name()},
          {"severity", alert.severity()},      {"cluster", printable(alert.cluster)},
          {"object", printable(alert.object)}, {"reason", alert.reason},
          {"message", text_of(alert.message)}, {"since", utc_text(alert.since)},
          {"runbook", runbook_of(alert)}};
}

// The bytes that a secret in base64 stands for; none: it is no base64.
std::optional<std::string> decoded(std::string_view base64) {
  if (base64.empty() || base64.size() % 4 != 0) return std::nullopt;
  std::string out(base64.size() / 4 * 3, '\0');
  const int size =
      EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                      reinterpret_cast<const unsigned char*>(base64.data()), static_cast<int>(base64.size()));
  if (size < 0) return std::nullopt;
  // It counts the zeros of the padding.
  const std::size_t padding = base64.ends_with("==") ? 2 : base64.ends_with("=") ? 1 : 0;
  out.resize(static_cast<std::size_t>(size) - padding);
  return out;
}

}  // namespace

std::string alertmanager_body(const std::vector<AlertmanagerAlert>& alerts) {
  Json out = Json::array();
  for (const AlertmanagerAlert& one : alerts) out.push_back(alertmanager_json(one));
  return dumped(out);
}

OutMessage webhook_message(const std::vector<AlertChange>& events, std::size_t dropped, WallTime now) {
  Json all = Json::array();
  for (const AlertChange& one : events) all.push_back(event_json(one));
  std::string body = dumped({{"type", "lockstep.alerts"},
                             {"timestamp", utc_text(now)},
                             {"data", {{"dropped", dropped}, {"events", std::move(all)}}}});
  Digest digest;
  digest.add(body);
  return {std::string(kIdPrefix) + digest.finish().substr(7, 32), std::move(body)};
}

Result<std::string> webhook_signature(const std::string& secret, const OutMessage& message,
                                      std::int64_t seconds) {
  std::string key = secret;
  if (secret.starts_with(kWhsec)) {
    const auto bytes = decoded(std::string_view(secret).substr(kWhsec.size()));
    if (!bytes) return Error{ErrorKind::invalid_spec, "what follows whsec_ in the secret is no base64"};
    key = *bytes;
  }
  const std::string text = message.id + "." + std::to_string(seconds) + "." + message.body;
  std::array<unsigned char, 32> mac{};
  unsigned size = 0;
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(text.data()), text.size(), mac.data(), &size) == nullptr)
    return Error{ErrorKind::refused, "OpenSSL has no HMAC"};
  std::array<unsigned char, 48> base64{};  // of 32 bytes: 44 characters and a NUL
  const int length = EVP_EncodeBlock(base64.data(), mac.data(), static_cast<int>(size));
  return "v1," + std::string(base64.begin(), base64.begin() + length);
}

}  // namespace lockstep
