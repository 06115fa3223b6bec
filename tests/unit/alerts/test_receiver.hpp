// A small HTTP server that does what the test says with each request, and keeps them.
#pragma once

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace lockstep {

struct ReceivedPost {
  std::string line{};  // "POST /path HTTP/1.1"
  std::map<std::string, std::string> headers{};
  std::string body{};
};

class TestReceiver {
 public:
  // What to answer the i-th request with; "": nothing, and the connection stays open.
  using Answers = std::function<std::string(std::size_t i)>;
  static std::string status(int code, const std::string& headers = "") {
    return "HTTP/1.1 " + std::to_string(code) + " So it is\r\n" + headers +
           "Content-Length: 6\r\nConnection: close\r\n\r\nsaid\r\n";
  }

  explicit TestReceiver(Answers answers) : answers_(std::move(answers)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(where);
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&where), size) != 0 || ::listen(listener_, 16) != 0)
      std::abort();
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&where), &size);
    port_ = ntohs(where.sin_port);
    thread_ = std::thread([this] { run(); });
  }
  ~TestReceiver() {
    stopping_ = true;
    thread_.join();
    for (const int one : held_) ::close(one);
    ::close(listener_);
  }
  TestReceiver(const TestReceiver&) = delete;
  TestReceiver& operator=(const TestReceiver&) = delete;

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  std::vector<ReceivedPost> got() const {
    const std::scoped_lock lock(mutex_);
    return got_;
  }

 private:
  void run() {
    while (!stopping_) {
      pollfd one{listener_, POLLIN, 0};
      if (::poll(&one, 1, 20) <= 0) continue;
      const int client = ::accept(listener_, nullptr, nullptr);
      if (client < 0) continue;
      const ReceivedPost post = read(client);
      std::size_t i = 0;
      {
        const std::scoped_lock lock(mutex_);
        i = got_.size();
        got_.push_back(post);
      }
      const std::string answer = answers_(i);
      if (answer.empty()) {
        held_.push_back(client);
        continue;
      }
      (void)::send(client, answer.data(), answer.size(), MSG_NOSIGNAL);
      ::close(client);
    }
  }
  static ReceivedPost read(int client) {
    std::string all;
    std::size_t head = std::string::npos;
    std::size_t length = 0;
    ReceivedPost out;
    std::string piece(65536, '\0');
    while (head == std::string::npos || all.size() < head + 4 + length) {
      const ssize_t size = ::recv(client, piece.data(), piece.size(), 0);
      if (size <= 0) return out;
      all.append(piece.data(), static_cast<std::size_t>(size));
      if (head != std::string::npos || (head = all.find("\r\n\r\n")) == std::string::npos) continue;
      parse_head(all.substr(0, head), out);
      length = std::strtoull(out.headers["content-length"].c_str(), nullptr, 10);
    }
    out.body = all.substr(head + 4);
    return out;
  }
  static void parse_head(const std::string& head, ReceivedPost& out) {
    std::size_t at = head.find("\r\n");
    out.line = head.substr(0, at);
    while (at != std::string::npos) {
      const std::size_t end = head.find("\r\n", at + 2);
      const std::string line = head.substr(at + 2, end == std::string::npos ? end : end - at - 2);
      std::string name = line.substr(0, line.find(':'));
      for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      out.headers[name] = line.substr(std::min(line.size(), line.find(':') + 2));
      at = end;
    }
  }

  const Answers answers_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::vector<int> held_;
  std::atomic<bool> stopping_{false};
  mutable std::mutex mutex_;
  std::vector<ReceivedPost> got_;  // under mutex_
  std::thread thread_;
};

}  // namespace lockstep
