// A recorded host with its part of the linux driver: what is read there and how changes affect its files.
#pragma once

#include <gtest/gtest.h>

#include "drivers/linux/host/host_part.hpp"
#include "tests/unit/linux/host_tree.hpp"
#include "tests/unit/linux/lab.hpp"

namespace lockstep {

class HostLab : public ::testing::Test {
 protected:
  void SetUp() override { make({}); }

  void make(const std::vector<std::string>& named, std::string nvml = "/nonexistent/libnvidia-ml.so.1") {
    LinuxTarget target;
    target.device = "gpu1";
    target.root = host.root();
    target.nvml_library = std::move(nvml);
    part = host_part(target);
    scope.named.clear();
    for (const std::string& entry : named) scope.named.push_back(path(entry));
  }

  static Path path(const std::string& entry) {
    const auto parsed = Path::parse(entry);
    EXPECT_TRUE(parsed) << entry;
    return parsed ? *parsed : Path{};
  }

  Tree read() {
    TreeBuilder tree;
    unread.clear();
    part->read(scope, {}, tree, unread, within(std::chrono::seconds(5)));
    return tree.build();
  }
  std::string value(const std::string& entry) { return read().value(path(entry)).to_string(); }
  // Why the entry could not be read; empty if it was read.
  std::string not_read(const std::string& entry) {
    read();
    for (const Unread& one : unread)
      if (one.row == path(entry).row()) return one.why.text();
    return {};
  }
  // Why this host does not support the entry; empty if it does.
  std::string lacks(const std::string& entry) { return lack(entry).reason; }
  bool is_by_hand(const std::string& entry) { return lack(entry).by_hand; }
  // The error text; empty on success.
  std::string apply(const std::string& entry, Value want) {
    const auto answers = part->apply({{path(entry), {}, want, 0}}, {}, within(std::chrono::seconds(5)));
    EXPECT_EQ(answers.size(), 1U);
    return answers[0] ? std::string(to_string(answers[0]->kind)) + ": " + answers[0]->text() : "";
  }

  Incapable lack(const std::string& entry) {
    const auto lacks = part->incapable(scope, {}, within(std::chrono::seconds(5)));
    const Incapable* const found = incapable_of(lacks, path(entry));
    return found == nullptr ? Incapable{} : *found;
  }

  RecordedHost host;
  std::unique_ptr<LinuxPart> part;
  Scope scope;
  std::vector<Unread> unread;
};

}  // namespace lockstep
