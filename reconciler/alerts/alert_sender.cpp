#include "reconciler/alerts/alert_sender.hpp"

#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "reconciler/alerts/http_post.hpp"
#include "reconciler/alerts/messages.hpp"
#include "reconciler/alerts/outbox.hpp"
#include "specs/files/secret_file.hpp"

namespace lockstep {
namespace {

// Between two looks at the status: nobody is told later for that.
constexpr std::chrono::milliseconds kTurn{250};

constexpr const char* kAlertmanager = "alertmanager";
constexpr const char* kWebhook = "webhook";

// RFC 9110 15: 408 and 429 (RFC 6585) may pass, as all of the server's own may; the other refusals do not.
Delivery outcome_of(int status) {
  if (status >= 200 && status < 300) return Delivery::delivered;
  const bool for_good = status >= 300 && status < 500 && status != 408 && status != 429;
  return for_good ? Delivery::refused : Delivery::failed;
}

// For logs: what follows may be a secret.
std::string origin_of(const std::string& url) {
  const std::size_t host = url.find("://");
  return host == url.npos ? url : url.substr(0, url.find('/', host + 3));
}

std::string alerts_path_of(std::string base) {
  while (base.ends_with('/')) base.pop_back();
  return base + "/api/v2/alerts";
}

// One of them, with its thread.
class Receiver {
 public:
  Receiver(std::string kind, std::string url, std::string secret, std::unique_ptr<Outbox> outbox,
           const AlertReceivers& all, const AlertSeams& seams)
      : kind_(std::move(kind)),
        url_(std::move(url)),
        secret_(std::move(secret)),
        ca_file_(all.ca_file),
        timeout_(all.timeout),
        seams_(seams),
        outbox_(std::move(outbox)),
        thread_([this](const std::stop_token& stop) { run(stop); }) {}

  void request_stop() { thread_.request_stop(); }
  void update(const AlertBook& book, const std::vector<AlertChange>& changes) {
    std::size_t dropped = 0;
    {
      const std::scoped_lock lock(mutex_);
      outbox_->update(book, changes);
      changed_ = changed_ || !changes.empty();
      dropped = outbox_->take_dropped();
    }
    if (dropped > 0) seams_.metrics.notifications_dropped(kind_, dropped);
    if (!changes.empty()) wake_.notify_one();
  }

 private:
  void run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
      changed_ = false;
      const std::optional<OutMessage> message =
          outbox_->next(std::chrono::system_clock::now(), std::chrono::steady_clock::now());
      if (message) {
        lock.unlock();
        const auto [outcome, asked] = send(*message, stop);
        lock.lock();
        outbox_->done(outcome, asked, std::chrono::steady_clock::now());
      }
      wake_.wait_until(lock, stop, outbox_->look_at(std::chrono::steady_clock::now()),
                       [this] { return changed_; });
    }
  }

  std::pair<Delivery, std::optional<std::chrono::seconds>> send(const OutMessage& message,
                                                                const std::stop_token& stop) {
    HttpPost request{.url = url_, .body = message.body, .ca_file = ca_file_, .timeout = timeout_};
    HttpAnswer answer;
    if (const Result<Done> is_signed = sign(message, request); is_signed)
      answer = http_post(request, stop);
    else
      answer.why = is_signed.error().text();
    const Delivery outcome = outcome_of(answer.status);
    if (stop.stop_requested()) return {outcome, {}};
    seams_.metrics.notified(kind_, outcome);
    std::string trouble;
    if (outcome != Delivery::delivered)
      trouble = (answer.status == 0 ? "" : "HTTP " + std::to_string(answer.status) + " ") + answer.why;
    if (trouble.empty() != trouble_.empty())
      seams_.log("alerts to " + origin_of(url_) + (trouble.empty() ? ": are taken again" : ": " + trouble));
    trouble_ = std::move(trouble);
    return {outcome, answer.retry_after};
  }

  Result<Done> sign(const OutMessage& message, HttpPost& request) const {
    if (secret_.empty()) return Done{};
    TRY(const std::string secret, read_secret(secret_));
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const std::int64_t seconds = std::chrono::floor<std::chrono::seconds>(now).count();
    TRY(const std::string signature, webhook_signature(secret, message, seconds));
    request.headers = {"webhook-id: " + message.id, "webhook-timestamp: " + std::to_string(seconds),
                       "webhook-signature: " + signature};
    return Done{};
  }

  const std::string kind_;
  const std::string url_;
  const std::string secret_;  // file; empty: it is not signed
  const std::string ca_file_;
  const std::chrono::milliseconds timeout_;
  const AlertSeams& seams_;
  std::string trouble_;  // of the thread
  std::mutex mutex_;
  std::condition_variable_any wake_;
  const std::unique_ptr<Outbox> outbox_;  // under mutex_
  bool changed_ = false;                  // under mutex_; since next()
  std::jthread thread_;                   // ends before all that it uses
};

class RunningSender final : public AlertSender {
 public:
  RunningSender(const AlertReceivers& receivers, AlertSeams seams)
      : seams_(std::move(seams)), after_(receivers.after) {
    for (const std::string& base : receivers.alertmanagers)
      add(kAlertmanager, alerts_path_of(base), "", alertmanager_outbox(), receivers);
    if (receivers.webhook)
      add(kWebhook, receivers.webhook->url, receivers.webhook->secret, webhook_outbox(), receivers);
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }
  ~RunningSender() override {
    for (const auto& one : receivers_) one->request_stop();  // all at once
  }

 private:
  void add(const char* kind, std::string url, std::string secret, std::unique_ptr<Outbox> outbox,
           const AlertReceivers& all) {
    receivers_.push_back(
        std::make_unique<Receiver>(kind, std::move(url), std::move(secret), std::move(outbox), all, seams_));
  }

  void run(const std::stop_token& stop) {
    AlertBook book;
    std::mutex mutex;
    std::condition_variable_any wake;
    while (!stop.stop_requested()) {
      const WallTime now = std::chrono::system_clock::now();
      AlertBook next = next_alerts(book, *seams_.status(), now, after_);
      const std::vector<AlertChange> changes = changes_between(book, next, now);
      book = std::move(next);
      for (const auto& one : receivers_) one->update(book, changes);
      seams_.metrics.alerts_open(book.open.size());
      std::unique_lock lock(mutex);
      wake.wait_for(lock, stop, kTurn, [] { return false; });
    }
  }

  const AlertSeams seams_;
  const std::chrono::seconds after_;
  std::vector<std::unique_ptr<Receiver>> receivers_;
  std::jthread thread_;  // ends before the receivers
};

}  // namespace

Result<std::unique_ptr<AlertSender>> AlertSender::start(const AlertReceivers& receivers, AlertSeams seams) {
  if (receivers.webhook) {
    TRY(const std::string secret, read_secret(receivers.webhook->secret));
    TRY_DONE(webhook_signature(secret, {}, 0));
  }
  try {
    return std::unique_ptr<AlertSender>(std::make_unique<RunningSender>(receivers, std::move(seams)));
  } catch (const std::system_error& none) {
    return Error{ErrorKind::transient, std::string("no threads for alerts: ") + none.what()};
  }
}

}  // namespace lockstep
