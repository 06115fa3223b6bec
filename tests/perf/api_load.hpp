// Load on the service's API: watchers that are read as fast as they come, and reads at a steady rate.
#pragma once

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "specs/files/descriptor.hpp"

namespace lockstep::perf {

using Clock = std::chrono::steady_clock;

constexpr int kRate = 100;  // requests a second
// Of the token "alpha", as the service's file of tokens has it.
constexpr const char* kTokens =
    "load:viewer:8ed3f6ad685b959ead7022518e1af76cd816f8e8ec7ccdda1ed4018e8f2223f8\n";

inline void wait_until(Clock::time_point due) {
  const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(due - Clock::now());
  if (left.count() <= 0) return;
  const timespec time{left.count() / 1'000'000'000, left.count() % 1'000'000'000};
  ::ppoll(nullptr, 0, &time, nullptr);
}

inline Descriptor connected(std::uint16_t port, const std::string& request) {
  Descriptor out(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int at_once = 1;
  ::setsockopt(out.number(), IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(out.number(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0 ||
      ::send(out.number(), request.data(), request.size(), MSG_NOSIGNAL) < 0) {
    fmt::print(stderr, "no connection\n");
    std::exit(1);
  }
  return out;
}

inline std::string request_for(const std::string& target) {
  return "GET " + target + " HTTP/1.1\r\nHost: api\r\nAuthorization: Bearer alpha\r\n\r\n";
}

// Of one answer with a Content-Length; false: the connection failed.
inline bool read_answer(int socket, std::string& buffer) {
  buffer.clear();
  std::size_t whole = 0;
  std::array<char, 65536> bytes{};
  while (whole == 0 || buffer.size() < whole) {
    const ssize_t got = ::recv(socket, bytes.data(), bytes.size(), 0);
    if (got <= 0) return false;
    buffer.append(bytes.data(), static_cast<std::size_t>(got));
    const std::size_t end = buffer.find("\r\n\r\n");
    if (whole != 0 || end == std::string::npos) continue;
    const std::size_t length = buffer.find("Content-Length: ");
    whole = end + 4 + std::strtoul(buffer.c_str() + length + 16, nullptr, 10);
  }
  return buffer.starts_with("HTTP/1.1 200");
}

// Reads all watchers' events; counts those of changes.
inline void read_watches(const std::vector<Descriptor>& watchers, std::atomic<std::uint64_t>& events,
                         const std::stop_token& stop) {
  std::vector<pollfd> polled;
  for (const Descriptor& one : watchers) polled.push_back({one.number(), POLLIN, 0});
  std::vector<char> bytes(1 << 20);
  while (!stop.stop_requested()) {
    if (::poll(polled.data(), polled.size(), 100) <= 0) continue;
    for (pollfd& one : polled) {
      if (one.revents == 0) continue;
      const ssize_t got = ::recv(one.fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
      if (got == 0) one.fd = -1;
      const std::string_view text(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
      for (std::size_t at = text.find("event: MODIFIED"); at != text.npos;
           at = text.find("event: MODIFIED", at + 1))
        ++events;
    }
  }
}

inline double at_share(std::vector<double>& sorted, double share) {
  return sorted.empty() ? 0
                        : sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
}

inline void print_latency(const char* what, std::vector<double> all) {
  std::sort(all.begin(), all.end());
  fmt::print("{:<22} {:>6} requests  p50 {:7.2f} ms  p99 {:7.2f} ms  most {:7.2f} ms\n", what, all.size(),
             at_share(all, 0.5), at_share(all, 0.99), at_share(all, 1));
}

// Of one object and of a page of 100 in turns, each sent when it is due, whatever the ones before it took: a
// server that stalls is not measured less often. For the thread that asks, until it has ended.
class ReadLatencies {
 public:
  void ask(std::uint16_t port, const std::string& prefix, int devices, const std::function<bool()>& over) {
    const Descriptor client = connected(port, request_for("/healthz"));
    std::string buffer;
    if (!read_answer(client.number(), buffer)) failed("/healthz");
    const auto start = Clock::now();
    for (int i = 0; !over(); ++i) {
      const auto due = start + i * std::chrono::microseconds(1'000'000 / kRate);
      wait_until(due);
      const std::string target =
          i % 2 == 0 ? "/api/v1alpha1/devices/" + prefix + std::to_string(1 + i % (devices - 1))
                     : "/api/v1alpha1/devices?limit=100";
      const std::string request = request_for(target);
      if (::send(client.number(), request.data(), request.size(), MSG_NOSIGNAL) < 0 ||
          !read_answer(client.number(), buffer))
        failed(target);
      (i % 2 == 0 ? one_ : page_)
          .push_back(std::chrono::duration<double, std::milli>(Clock::now() - due).count());
    }
  }
  void print() const {
    print_latency("one object", one_);
    print_latency("a page of 100", page_);
  }

 private:
  static void failed(const std::string& target) {
    fmt::print(stderr, "{} is not answered as it should be\n", target);
    std::exit(1);
  }
  std::vector<double> one_;  // milliseconds
  std::vector<double> page_;
};

}  // namespace lockstep::perf
