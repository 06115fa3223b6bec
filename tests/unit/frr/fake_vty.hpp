// FakeVty: a stateful stand-in for the vty socket of an FRR daemon (only its framing and its modes), so that
// tests can cause truncation, silence and garbage.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "specs/files/descriptor.hpp"

namespace lockstep::frr {

// A fault that replaces the ordinary reply to a command; an empty one has no effect.
struct Fault {
  std::string on = {};                   // command
  std::vector<std::string> pieces = {};  // bytes to send, each by its own send(); none: silence
  bool hang_up = false;                  // close after the pieces
  bool vanish = false;                   // before the pieces: remove the socket file
};

// Answers outside configuration mode in addition to the ordinary ones: command and text.
using Answers = std::map<std::string, std::string>;

class FakeVty {
 public:
  FakeVty(const std::string& run_dir, const std::string& daemon, Fault fault = {}, Answers answers = {});
  ~FakeVty();
  FakeVty(const FakeVty&) = delete;
  FakeVty& operator=(const FakeVty&) = delete;

  // Lines received in configuration mode. Read it when the client is done.
  const std::vector<std::string>& configured() const { return configured_; }

 private:
  void serve();
  void converse(int client);
  std::string answer(const std::string& command);

  std::string path_;
  Fault fault_;
  Answers answers_;
  Descriptor listener_;
  Descriptor quit_;
  bool enabled_ = false;
  bool configuring_ = false;
  std::vector<std::string> configured_;
  std::thread thread_;
};

// The framing of a reply: text, three NUL bytes, code.
std::string framed(std::string_view text, char code);

// A folder under /tmp that is removed with the object.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

}  // namespace lockstep::frr
