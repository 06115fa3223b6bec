#include "scripted_server.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace lockstep::client {

ScriptedServer::ScriptedServer(std::vector<std::string> replies) : replies_(std::move(replies)) {
  sockaddr_un where{};
  where.sun_family = AF_UNIX;
  std::strncpy(where.sun_path, folder_.file("socket").c_str(), sizeof where.sun_path - 1);
  listener_ = Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::bind(listener_.number(), reinterpret_cast<const sockaddr*>(&where), sizeof where), 0);
  EXPECT_EQ(::listen(listener_.number(), 16), 0);
  thread_ = std::thread([this] { serve(); });
}

ScriptedServer::~ScriptedServer() {
  ends_ = true;
  ::shutdown(listener_.number(), SHUT_RDWR);
  thread_.join();
}

void ScriptedServer::serve() {
  while (!ends_) {
    const Descriptor connection(::accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC));
    if (connection.number() >= 0) answer(connection.number());
  }
}

// Reads one request, with its body.
void ScriptedServer::answer(int connection) {
  std::string request;
  std::size_t wanted = std::string::npos;
  std::array<char, 4096> room{};
  while (request.size() < wanted) {
    const ssize_t got = ::read(connection, room.data(), room.size());
    if (got <= 0) return;
    request.append(room.data(), static_cast<std::size_t>(got));
    const std::size_t head = request.find("\r\n\r\n");
    if (head == request.npos) continue;
    const std::size_t length = request.find("Content-Length: ");
    wanted = head + 4 + (length < head ? std::stoul(request.substr(length + 16)) : 0);
  }
  std::string reply;
  {
    const std::scoped_lock lock(mutex_);
    if (requests_.size() < replies_.size()) reply = replies_[requests_.size()];
    requests_.push_back(std::move(request));
  }
  for (std::size_t sent = 0; sent < reply.size();) {
    const ssize_t put = ::send(connection, reply.data() + sent, reply.size() - sent, MSG_NOSIGNAL);
    if (put <= 0) return;
    sent += static_cast<std::size_t>(put);
  }
}

std::string ScriptedServer::json(int status, const std::string& body, const std::string& headers) {
  return "HTTP/1.1 " + std::to_string(status) +
         " X\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\nConnection: close\r\n" + headers + "\r\n" + body;
}

std::string ScriptedServer::events(const std::string& text) {
  return "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n" + text;
}

std::string ScriptedServer::failure(int status, const std::string& message, const std::string& headers) {
  return json(status,
              R"({"kind":"Status","apiVersion":"v1","status":"Failure","message":")" + message +
                  R"(","code":)" + std::to_string(status) + "}",
              headers);
}

}  // namespace lockstep::client
