#include "tests/unit/frr/fake_vty.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>

namespace lockstep::frr {

std::string framed(std::string_view text, char code) {
  std::string out(text);
  out.append(3, '\0');
  out += code;
  return out;
}

Folder::Folder() {
  std::string name = "/tmp/lsfrr-unit-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
  name_ = name;
  std::filesystem::permissions(name_, std::filesystem::perms(0755));
}
Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(name_, ignored);
}

FakeVty::FakeVty(const std::string& run_dir, const std::string& daemon, Fault fault, Answers answers)
    : path_(run_dir + "/" + daemon + ".vty"),
      fault_(std::move(fault)),
      answers_(std::move(answers)),
      listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)),
      quit_(::eventfd(0, EFD_CLOEXEC)) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path_.c_str(), path_.size() + 1);
  if (::bind(listener_.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      ::listen(listener_.number(), 4) != 0)
    throw std::runtime_error("bind " + path_);
  thread_ = std::thread([this] { serve(); });
}

FakeVty::~FakeVty() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto wrote = ::write(quit_.number(), &one, sizeof(one));
  thread_.join();
}

void FakeVty::serve() {
  for (;;) {
    std::array<pollfd, 2> waits{{{listener_.number(), POLLIN, 0}, {quit_.number(), POLLIN, 0}}};
    if (::poll(waits.data(), waits.size(), -1) < 0 || waits[1].revents != 0) return;
    const Descriptor client(::accept(listener_.number(), nullptr, nullptr));
    if (client) converse(client.number());
  }
}

void FakeVty::converse(int client) {
  enabled_ = configuring_ = false;
  std::string pending;
  for (;;) {
    std::array<pollfd, 2> waits{{{client, POLLIN, 0}, {quit_.number(), POLLIN, 0}}};
    if (::poll(waits.data(), waits.size(), -1) < 0 || waits[1].revents != 0) return;
    std::array<char, 4096> buffer;
    const ssize_t count = ::recv(client, buffer.data(), buffer.size(), 0);
    if (count <= 0) return;
    pending.append(buffer.data(), static_cast<std::size_t>(count));
    for (std::size_t end = pending.find('\0'); end != pending.npos; end = pending.find('\0')) {
      const std::string command = pending.substr(0, end);
      pending.erase(0, end + 1);
      const std::string ordinary = answer(command);
      if (command != fault_.on) {
        ::send(client, ordinary.data(), ordinary.size(), MSG_NOSIGNAL);
        continue;
      }
      if (fault_.vanish) std::filesystem::remove(path_);
      for (const std::string& piece : fault_.pieces)
        if (::send(client, piece.data(), piece.size(), MSG_NOSIGNAL) < 0) return;
      if (fault_.hang_up) return;
    }
  }
}

std::string FakeVty::answer(const std::string& command) {
  if (command == "enable") {
    enabled_ = true;
    return framed("", 0);
  }
  if (command == "configure terminal" && enabled_) {
    configuring_ = true;
    return framed("", 0);
  }
  if (command == "end") {
    configuring_ = false;
    return framed("", 0);
  }
  if (configuring_ && !command.starts_with("bogus")) {
    configured_.push_back(command);
    return framed("", 0);
  }
  if (const auto given = answers_.find(command); given != answers_.end()) return framed(given->second, 0);
  if (command == "show running-config") {
    std::string text = "frr version 8.4.4\nfrr defaults traditional\n!\n";
    for (const std::string& line : configured_) text += line + "\n";
    return framed(text, 0);
  }
  return framed("% [FAKE] Unknown command: " + command + "\n", 2);
}

}  // namespace lockstep::frr
