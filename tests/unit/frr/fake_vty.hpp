// FakeVty: a stateful stand-in for an FRR daemon's vty socket (not FRR: only its framing and its modes), so
// that truncation, silence and garbage can be had at will.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "specs/files/descriptor.hpp"

namespace lockstep::frr {

// What a FakeVty does instead of the ordinary reply to a command; empty: nothing special.
struct Fault {
  std::string on = {};                   // command
  std::vector<std::string> pieces = {};  // bytes to send, each by its own send(); none: silence
  bool hang_up = false;                  // close after the pieces
  bool vanish = false;                   // before the pieces: nobody finds its socket any more
};

// What it answers besides the ordinary, outside configuration mode: a command, its text.
using Answers = std::map<std::string, std::string>;

class FakeVty {
 public:
  FakeVty(const std::string& run_dir, const std::string& daemon, Fault fault = {}, Answers answers = {});
  ~FakeVty();
  FakeVty(const FakeVty&) = delete;
  FakeVty& operator=(const FakeVty&) = delete;

  // Lines that were taken in configuration mode. Read it when the client is done.
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

// Text, three NUL bytes, code.
std::string framed(std::string_view text, char code);

// A folder under /tmp that goes away with the object.
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
