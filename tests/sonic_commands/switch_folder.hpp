// SwitchFolder: the folder of a stand-in's switch (stand_in.cpp), made for a test and removed after it.
#pragma once

#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "drivers/posix/wait.hpp"
#include "drivers/sonic/patch_driver.hpp"

namespace lockstep::stand_in {

class SwitchFolder {
 public:
  // `program`: the stand-in.
  explicit SwitchFolder(const std::string& program) {
    std::string path = "/tmp/lockstep-switch.XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = path;
    for (const char* const one : {"bin", "home", "checkpoints", "tmp"})
      std::filesystem::create_directory(path_ / one);
    for (const char* const name :
         {"ssh", "sudo", "config", "sonic-cfggen", "sonic-db-cli", "sonic-db-dump", "login"})
      std::filesystem::create_symlink(program, path_ / "bin" / name);
    write("initialised", "1");
    write("state.json", "{}");
    write("appl.json", "{}");
  }
  // What a killed ssh has left running there may still write for a moment.
  ~SwitchFolder() {
    std::error_code failed;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    do {
      failed.clear();
      std::filesystem::remove_all(path_, failed);
    } while (failed && std::chrono::steady_clock::now() < end);
  }
  SwitchFolder(const SwitchFolder&) = delete;
  SwitchFolder& operator=(const SwitchFolder&) = delete;

  std::string operator/(const std::string& name) const { return path_ / name; }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / (name + ".next")) << text;
    std::filesystem::rename(path_ / (name + ".next"), path_ / name);
  }
  std::string read(const std::string& name) const {
    std::ifstream file(path_ / name);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  nlohmann::json config() const { return nlohmann::json::parse(read("config.json")); }
  void set_config(const nlohmann::json& config) const { write("config.json", config.dump()); }
  // How a command misbehaves from now on; null: as it should.
  void misbehave(const nlohmann::json& faults) const {
    write("faults.json", faults.is_null() ? "" : faults.dump());
  }
  // What ran since the last call of this: a line each.
  std::vector<std::string> calls() {
    std::ifstream file(path_ / "calls");
    file.seekg(static_cast<std::streamoff>(calls_read_));
    std::vector<std::string> out;
    for (std::string line; std::getline(file, line);) {
      calls_read_ += line.size() + 1;
      out.push_back(line);
    }
    return out;
  }

  SonicPatchTarget target() const {
    return {.device = "leaf0",
            .server = {.user = "admin", .host = "leaf0"},
            .ssh_program = path_ / "bin/ssh",
            .checkpoints = path_ / "checkpoints"};
  }

 private:
  std::filesystem::path path_;
  std::size_t calls_read_ = 0;
};

// A call that is stopped as soon as a file is there: what the switch does then, it does without us.
class StopWhen {
 public:
  explicit StopWhen(std::string file)
      : thread_([this, file = std::move(file)](const std::stop_token& over) {
          while (!over.stop_requested() && !std::filesystem::exists(file))
            (void)pause(std::chrono::milliseconds(2), {.stop = over});
          stop_.request_stop();
        }) {}
  Call call() const {
    return {.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60),
            .stop = stop_.get_token()};
  }

 private:
  std::stop_source stop_;
  std::jthread thread_;
};

}  // namespace lockstep::stand_in
