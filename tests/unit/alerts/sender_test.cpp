// Alerts over HTTP, to receivers that refuse, fail, hang and come back.
#include <gtest/gtest.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "reconciler/alerts/alert_sender.hpp"
#include "reconciler/alerts/messages.hpp"
#include "reconciler/pki/authority.hpp"
#include "test_receiver.hpp"
#include "tests/unit/api/sample_status.hpp"
#include "tests/unit/api/temporary_path.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::json;

// What OpenSSL's program makes of it: the base64 of the HMAC-SHA256 of `text`.
std::string hmac_by_openssl(const api::TemporaryPath& folder, const std::string& key,
                            const std::string& text) {
  std::string hex;
  for (const char c : key) {
    std::array<char, 3> two{};
    std::snprintf(two.data(), two.size(), "%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
    hex += two.data();
  }
  const std::string file = folder.write("signed", text);
  const std::string command =
      "openssl dgst -sha256 -mac HMAC -macopt hexkey:" + hex + " -binary '" + file + "' | openssl base64 -A";
  FILE* const pipe = ::popen(command.c_str(), "r");
  std::string out;
  for (int c = 0; pipe != nullptr && (c = std::fgetc(pipe)) != EOF;) out += static_cast<char>(c);
  if (pipe != nullptr) ::pclose(pipe);
  return out;
}

bool soon(const std::function<bool()>& holds) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > until) return false;
    (void)::poll(nullptr, 0, 5);
  }
  return true;
}

class SenderTest : public testing::Test {
 protected:
  SenderTest() { set(api::quiet_status()); }

  void set(ServiceStatus status) {
    const std::scoped_lock lock(mutex_);
    status_ = std::make_shared<const ServiceStatus>(std::move(status));
  }
  static ServiceStatus refused() {
    ServiceStatus out = api::quiet_status();
    out.revisions.insert(out.revisions.begin(),
                         api::revision_status("9c01ff", "sha256:bb", RevisionState::refused));
    out.revisions[0].shown.why = "pairs bandwidth min, gpu1 -> gpu2";
    return out;
  }
  Result<std::unique_ptr<AlertSender>> start(AlertReceivers receivers) {
    return AlertSender::start(receivers, {.status =
                                              [this] {
                                                const std::scoped_lock lock(mutex_);
                                                return status_;
                                              },
                                          .log =
                                              [this](const std::string& line) {
                                                const std::scoped_lock lock(mutex_);
                                                log_ += line + "\n";
                                              },
                                          .metrics = metrics_});
  }
  AlertReceivers to_webhook(const std::string& url, const std::string& secret = "correct horse") {
    return {.webhook = AlertReceivers::Webhook{url, folder_.write("secret", secret + "\n")}};
  }
  std::string log() const {
    const std::scoped_lock lock(mutex_);
    return log_;
  }
  bool counted(const std::string& line) {
    return metrics_.text(std::make_shared<const ServiceStatus>()).find("\n" + line + "\n") !=
           std::string::npos;
  }

  api::TemporaryPath folder_;
  ServiceMetrics metrics_{"1", "c"};
  mutable std::mutex mutex_;
  std::shared_ptr<const ServiceStatus> status_;  // under mutex_
  std::string log_;                              // under mutex_
};

TEST_F(SenderTest, AnAlertmanagerGetsBeginAndEnd) {
  TestReceiver receiver([](std::size_t) { return TestReceiver::status(200); });
  const auto sender = start({.alertmanagers = {receiver.url() + "/prefix/"}});
  ASSERT_TRUE(sender) << sender.error().text();
  set(refused());
  ASSERT_TRUE(soon([&] { return receiver.got().size() == 1; }));
  const ReceivedPost first = receiver.got()[0];
  EXPECT_EQ(first.line, "POST /prefix/api/v2/alerts HTTP/1.1");
  EXPECT_EQ(first.headers.at("content-type"), "application/json");
  EXPECT_FALSE(first.headers.contains("webhook-signature"));
  const Json alert = Json::parse(first.body)[0];
  EXPECT_EQ(alert["labels"]["alertname"], "LockstepGateRefused");
  EXPECT_EQ(alert["labels"]["revision"], "9c01ff");
  EXPECT_EQ(alert["startsAt"], "2026-11-18T11:06:50Z");
  EXPECT_TRUE(counted("lockstep_alerts_open 1"));
  set(api::quiet_status());
  ASSERT_TRUE(soon([&] { return receiver.got().size() == 2; }));
  const Json ended = Json::parse(receiver.got()[1].body)[0];
  EXPECT_EQ(ended["labels"], alert["labels"]) << "its identity there";
  EXPECT_EQ(ended["startsAt"], alert["startsAt"]);
  EXPECT_LT(ended["endsAt"].get<std::string>(), alert["endsAt"].get<std::string>());
}

TEST_F(SenderTest, AWebhookIsSignedAndRepeatedUntilItIsTaken) {
  TestReceiver receiver([](std::size_t i) {
    return i == 0   ? TestReceiver::status(503)
           : i == 1 ? TestReceiver::status(429, "Retry-After: 1\r\n")
                    : TestReceiver::status(204);
  });
  const auto sender = start(to_webhook(receiver.url() + "/hook?channel=ops"));
  ASSERT_TRUE(sender) << sender.error().text();
  set(refused());
  ASSERT_TRUE(soon([&] { return receiver.got().size() == 3; }));
  const std::vector<ReceivedPost> got = receiver.got();
  for (const ReceivedPost& one : got) {
    EXPECT_EQ(one.line, "POST /hook?channel=ops HTTP/1.1");
    EXPECT_EQ(one.body, got[0].body);
    EXPECT_EQ(one.headers.at("webhook-id"), got[0].headers.at("webhook-id"));
    EXPECT_EQ(one.headers.at("webhook-signature"),
              "v1," + hmac_by_openssl(folder_, "correct horse",
                                      one.headers.at("webhook-id") + "." +
                                          one.headers.at("webhook-timestamp") + "." + one.body));
  }
  EXPECT_TRUE(soon([&] {
    return counted("lockstep_notifications_total{outcome=\"failed\",receiver=\"webhook\"} 2") &&
           counted("lockstep_notifications_total{outcome=\"delivered\",receiver=\"webhook\"} 1");
  }));
  EXPECT_TRUE(soon([&] { return log().find("are taken again") != std::string::npos; }));
  EXPECT_NE(log().find(receiver.url() + ": HTTP 503 said"), std::string::npos) << log();
  EXPECT_EQ(log().find("channel=ops"), std::string::npos)
      << "a part of an address may be a secret: " << log();
  EXPECT_EQ(std::ranges::count(log(), '\n'), 2) << "once when it begins, once when it is over: " << log();
}

TEST_F(SenderTest, WhatARefuserDoesNotTakeIsGivenUp) {
  TestReceiver receiver([](std::size_t i) { return TestReceiver::status(i == 0 ? 400 : 200); });
  const auto sender = start(to_webhook(receiver.url()));
  ASSERT_TRUE(sender);
  set(refused());
  ASSERT_TRUE(soon([&] { return receiver.got().size() == 1; }));
  set(api::quiet_status());
  ASSERT_TRUE(soon([&] { return receiver.got().size() == 2; }));
  const Json events = Json::parse(receiver.got()[1].body)["data"]["events"];
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0]["event"], "closed");
}

// A redirect could lead anywhere; it is not followed, and its message is given up.
TEST_F(SenderTest, RedirectsAreNotFollowed) {
  TestReceiver other([](std::size_t) { return TestReceiver::status(200); });
  TestReceiver receiver(
      [&](std::size_t) { return TestReceiver::status(307, "Location: " + other.url() + "/\r\n"); });
  const auto sender = start(to_webhook(receiver.url()));
  ASSERT_TRUE(sender);
  set(refused());
  ASSERT_TRUE(soon(
      [&] { return counted("lockstep_notifications_total{outcome=\"refused\",receiver=\"webhook\"} 1"); }));
  EXPECT_TRUE(other.got().empty());
}

TEST_F(SenderTest, OneThatHangsDelaysNoOtherAndNotTheEnd) {
  TestReceiver hanging([](std::size_t) { return ""; });
  TestReceiver receiver([](std::size_t) { return TestReceiver::status(200); });
  AlertReceivers receivers = to_webhook(receiver.url());
  receivers.alertmanagers = {hanging.url()};
  receivers.timeout = std::chrono::minutes(10);
  auto sender = start(receivers);
  ASSERT_TRUE(sender);
  set(refused());
  ASSERT_TRUE(soon([&] { return hanging.got().size() == 1 && receiver.got().size() == 1; }));
  set(api::quiet_status());
  ASSERT_TRUE(soon([&] { return receiver.got().size() == 2; }));
  const auto begun = std::chrono::steady_clock::now();
  sender->reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(60))
      << "not the request's ten minutes";
}

TEST_F(SenderTest, ARequestThatHangsEndsAndIsRepeated) {
  TestReceiver receiver([](std::size_t i) { return i == 0 ? "" : TestReceiver::status(200); });
  AlertReceivers receivers = to_webhook(receiver.url());
  receivers.timeout = std::chrono::milliseconds(300);
  const auto sender = start(receivers);
  ASSERT_TRUE(sender);
  set(refused());
  ASSERT_TRUE(soon([&] { return receiver.got().size() == 2; }));
  EXPECT_EQ(receiver.got()[0].body, receiver.got()[1].body);
}

TEST_F(SenderTest, ASecretThatChangedIsUsed) {
  TestReceiver receiver([](std::size_t) { return TestReceiver::status(200); });
  const auto sender = start(to_webhook(receiver.url()));
  ASSERT_TRUE(sender);
  folder_.write("secret", "whsec_" + std::string("AAEC/w=="));  // the bytes 00 01 02 ff
  set(refused());
  ASSERT_TRUE(soon([&] { return receiver.got().size() == 1; }));
  const ReceivedPost got = receiver.got()[0];
  EXPECT_EQ(got.headers.at("webhook-signature"),
            "v1," + hmac_by_openssl(folder_, std::string("\x00\x01\x02\xff", 4),
                                    got.headers.at("webhook-id") + "." + got.headers.at("webhook-timestamp") +
                                        "." + got.body));
}

TEST_F(SenderTest, SecretsThatCannotBeUsedAreRefusedAtStart) {
  const auto why = [&](const AlertReceivers& receivers) {
    const auto sender = start(receivers);
    return sender ? std::string() : sender.error().text();
  };
  EXPECT_NE(why({.webhook = AlertReceivers::Webhook{"http://h", folder_.file("none")}}).find("no such file"),
            std::string::npos);
  EXPECT_NE(
      why({.webhook = AlertReceivers::Webhook{"http://h", folder_.write("open", "x", 0644)}}).find("chmod"),
      std::string::npos);
  EXPECT_NE(why(to_webhook("http://h", "whsec_?")).find("base64"), std::string::npos);
}

TEST_F(SenderTest, NobodyWhoListensIsNoHarm) {
  AlertReceivers receivers = to_webhook("http://127.0.0.1:1/");
  receivers.alertmanagers = {"http://no-such-host.invalid:9093"};
  auto sender = start(receivers);
  ASSERT_TRUE(sender);
  set(refused());
  EXPECT_TRUE(soon([&] {
    return counted("lockstep_notifications_total{outcome=\"failed\",receiver=\"webhook\"} 2") &&
           metrics_.text(status_).find("{outcome=\"failed\",receiver=\"alertmanager\"}") != std::string::npos;
  }));
}

class TlsSenderTest : public SenderTest {
 protected:
  TlsSenderTest() {
    for (const char* const folder : {"ca", "other"})
      EXPECT_TRUE(make_authority(folder_.file(folder), "pod1", now_));
  }
  // Of a receiver at 127.0.0.1, for a day from then.
  TlsFiles issued(const std::string& name, std::chrono::sys_seconds from) {
    const auto one = issue_certificate(
        folder_.file("ca"),
        {.role = PeerRole::service, .name = name, .addresses = {"127.0.0.1"}, .life = std::chrono::days(1)},
        from);
    EXPECT_TRUE(one) << (one ? "" : one.error().text());
    return one ? TlsFiles{"", one->certificate, one->key, ""} : TlsFiles{};
  }
  // To both kinds of receivers there.
  AlertReceivers to_both(const std::string& url, const std::string& ca_file) {
    AlertReceivers out = to_webhook(url + "/hook");
    out.alertmanagers = {url};
    out.ca_file = ca_file;
    return out;
  }
  // By a sender that believes `ca_file`, to a receiver with this certificate at that host.
  void expect_not_told(const TlsFiles& its, const std::string& host, const std::string& ca_file,
                       const std::string& why) {
    TestReceiver receiver([](std::size_t) { return TestReceiver::status(200); }, its);
    const std::string url = receiver.url(host);
    const auto sender = start(to_both(url, ca_file));
    ASSERT_TRUE(sender) << sender.error().text();
    set(refused());
    EXPECT_TRUE(soon([&] { return std::ranges::count(log(), '\n') == 2; })) << "a line for each: " << log();
    EXPECT_NE(log().find("alerts to " + url + ": "), std::string::npos) << log();
    EXPECT_NE(log().find(why), std::string::npos) << log();
    const std::string text = metrics_.text(status_);
    for (const char* const kind : {"webhook", "alertmanager"})
      EXPECT_NE(text.find(std::string("{outcome=\"failed\",receiver=\"") + kind + "\"}"), std::string::npos)
          << kind << " is tried again";
    EXPECT_TRUE(receiver.got().empty());
  }

  const std::string ca_file_ = folder_.file("ca/ca.crt");
  const std::chrono::sys_seconds now_ =
      std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
};

TEST_F(TlsSenderTest, AReceiverThatItsAuthorityNamesIsTold) {
  TestReceiver receiver([](std::size_t) { return TestReceiver::status(200); }, issued("alerts", now_));
  const auto sender = start(to_both(receiver.url(), ca_file_));
  ASSERT_TRUE(sender) << sender.error().text();
  set(refused());
  EXPECT_TRUE(soon([&] {
    return counted("lockstep_notifications_total{outcome=\"delivered\",receiver=\"webhook\"} 1") &&
           counted("lockstep_notifications_total{outcome=\"delivered\",receiver=\"alertmanager\"} 1");
  })) << log();
  EXPECT_EQ(receiver.got().size(), 2U);
  EXPECT_EQ(log(), "");
}

TEST_F(TlsSenderTest, NothingIsToldToWhomNoBelievedAuthorityNames) {
  expect_not_told(issued("alerts", now_), "127.0.0.1", folder_.file("other/ca.crt"), "issuer certificate");
}

TEST_F(TlsSenderTest, ThePrivateAuthorityOfAReceiverIsNotBelievedUnasked) {
  expect_not_told(issued("alerts", now_), "127.0.0.1", "", "issuer certificate");
}

TEST_F(TlsSenderTest, NothingIsToldToACertificateOfAnotherName) {
  expect_not_told(issued("alerts", now_), "localhost", ca_file_, "certificate subject name");
}

TEST_F(TlsSenderTest, NothingIsToldToACertificateThatHasExpired) {
  expect_not_told(issued("alerts", now_ - std::chrono::days(2)), "127.0.0.1", ca_file_,
                  "certificate has expired");
}

TEST(AlertMessages, AreJsonWhateverTheTextsHave) {
  Alert alert{AlertKind::stalled,
              "pod\"1\n",
              "Cluster/pod1",
              "BreakerOpen",
              "\x1b[31m\xff\xc3" + std::string(5000, 'x') + "\xe2\x80\xae",
              api::at_second(0)};
  for (const std::string& body :
       {alertmanager_body({{alert, api::at_second(9)}}),
        webhook_message({{true, alert, api::at_second(1)}}, 3, api::at_second(2)).body}) {
    ASSERT_TRUE(Json::accept(body)) << body;
    EXPECT_EQ(body.find('\x1b'), std::string::npos);
    EXPECT_LT(body.size(), 4000U);
  }
}

}  // namespace
}  // namespace lockstep
