// The repository that a simulated service fetches from, and what a version of the program makes of it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "reconciler/service/specs_feed.hpp"
#include "specs.hpp"

namespace lockstep::service_simulation {

// Outlives the processes that fetch from it.
class Repository {
 public:
  // `folder`: where its commits are kept as files.
  Repository(std::string folder, bool has_window) : folder_(std::move(folder)), has_window_(has_window) {}
  void commit(const Commit& commit);  // and moves the branch there
  void move_to(const std::string& id) { head_ = id; }
  const std::string& head() const { return head_; }
  const Commit& at(const std::string& id) const { return commits_.at(id); }
  const std::map<std::string, Commit>& commits() const { return commits_; }
  std::unique_ptr<Source> source() const;
  std::string folder_of(const std::string& id) const { return folder_ + "/" + id; }

  std::optional<SourceTrouble> trouble{};

 private:
  class Fetches;
  std::string folder_;
  bool has_window_;
  std::map<std::string, Commit> commits_;
  std::string head_;
};

// A commit as a version of the program compiles it: "0012c@other".
using Key = std::string;
Key key_of(const Commit& commit, Kind kind);
Key key_of(const RevisionId& id);
std::string source_of(const Key& key);
Kind kind_of(const Key& key);

// The real feed, whose specs compile to other intents for a program of the other kind.
// `called`: before and after each of its calls.
std::unique_ptr<SpecsFeed> make_feed(std::unique_ptr<SpecsFeed> real, Kind kind,
                                     std::function<void()> called);
// As that feed does.
void compile_otherwise(OpenedCluster& cluster);

}  // namespace lockstep::service_simulation
