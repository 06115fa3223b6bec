// An agent's server with calls that a test defines, and certificates of its cluster.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

#include "reconciler/agent/server.hpp"
#include "tests/unit/agent/pki.hpp"
#include "tests/unit/agent/server_test_client.hpp"
#include "tests/unit/pipe.hpp"

namespace lockstep::agent {

// Wakes for what is written to a pipe: "a": all, "x": broken, else a device of that name.
class PipeWatcher final : public Watcher {
 public:
  explicit PipeWatcher(std::shared_ptr<Pipe> pipe) : pipe_(std::move(pipe)) {}
  int descriptor() const override { return pipe_->reader.number(); }
  Result<Woken> drain() override {
    Woken out;
    std::string name(std::size_t{64} << 10, ' ');
    pollfd one{descriptor(), POLLIN, 0};
    if (::poll(&one, 1, 0) != 1) return out;
    const ssize_t got = ::read(descriptor(), name.data(), name.size());
    name.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (name.empty() || name == "x") return Error{ErrorKind::transient, "broken"};
    out.all = name == "a";
    if (!out.all) out.devices.push_back(std::move(name));
    return out;
  }

 private:
  std::shared_ptr<Pipe> pipe_;
};

class TestCalls final : public Calls {
 public:
  Reply handle(std::string_view name, const std::string& body, PeerRole /*by*/, const Call& call) override {
    {
      const std::lock_guard lock(mutex_);
      calls_.emplace_back(std::string(name) + " " + body.substr(0, 64));
    }
    return on_call ? on_call(name, body, call) : Reply{200, R"({"got":")" + body + R"("})"};
  }
  Kind kind(std::string_view name) const override {
    if (name == "hello" || name == "observe") return Kind::reads;
    return name == "apply" ? Kind::writes : Kind::unknown;
  }
  Result<std::shared_ptr<Watcher>> watch() override {
    if (!pipe) return Error{ErrorKind::unsupported, "no events on this device"};
    return std::shared_ptr<Watcher>(std::make_shared<PipeWatcher>(pipe));
  }
  std::vector<std::string> calls() const {
    const std::lock_guard lock(mutex_);
    return calls_;
  }

  std::function<Reply(std::string_view name, const std::string& body, const Call& call)> on_call;
  std::shared_ptr<Pipe> pipe;

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> calls_;
};

class ServerTest : public ::testing::Test {
 protected:
  // May be called again: the former server ends first.
  void start() {
    server_.reset();
    options_.files = files_;
    options_.cluster = "pod";
    auto server = AgentServer::start(options_, calls_, [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      log_.push_back(line);
    });
    ASSERT_TRUE(server) << server.error().text();
    server_ = *std::move(server);
  }
  std::uint16_t port() const { return server_->port(); }
  RawClient client(const TlsFiles& files) const { return {port(), files}; }
  bool logged(const std::string& part) const {
    const std::lock_guard lock(mutex_);
    return std::any_of(log_.begin(), log_.end(),
                       [&](const std::string& line) { return line.find(part) != std::string::npos; });
  }
  std::string log() const {
    const std::lock_guard lock(mutex_);
    std::string out;
    for (const std::string& line : log_) out += line + "\n";
    return out;
  }

  TemporaryFolder folder_;
  TestCa ca_{folder_.path(), "pod CA", "ca"};
  TlsFiles files_ = ca_.issue("gpu1", "lockstep://pod/device/gpu1");
  TlsFiles controller_ = ca_.issue("ops", "lockstep://pod/controller/ops");
  TlsFiles reader_ = ca_.issue("grafana", "lockstep://pod/reader/grafana");
  ServerOptions options_{.listen = "127.0.0.1:0"};
  std::shared_ptr<TestCalls> calls_ = std::make_shared<TestCalls>();
  mutable std::mutex mutex_;
  std::vector<std::string> log_;
  std::unique_ptr<AgentServer> server_;  // last: its log goes to the above
};

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

}  // namespace lockstep::agent
