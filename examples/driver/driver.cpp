#include "examples/driver/driver.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <mutex>

#include "examples/driver/map.hpp"

namespace lockstep {
namespace {

using Lines = std::vector<std::string>;

// A token of the lines as they are. std::hash of libstdc++ gives one text one value, also in another process.
std::string revision_of(const Lines& lines) {
  std::string all;
  for (const std::string& line : lines) all += line + "\n";
  return std::to_string(std::hash<std::string>()(all));
}

class ExampleDriver : public Driver, public Preview {
 public:
  explicit ExampleDriver(ExampleTarget target) : target_(std::move(target)) {}

  Traits traits() const override {
    Traits out;
    out.driver = "example";
    out.reads = out.writes = example::rows();
    out.atomic = true;
    return out;
  }

  Result<Observation> observe(const Scope& scope, std::string_view if_not, const Call& call) override {
    TRY(const Lines lines, read(call));
    Observation out;
    out.device = target_.device;
    out.when = std::chrono::steady_clock::now();
    out.boot_id = "file";
    out.revision = revision_of(lines);
    if (!if_not.empty() && if_not == out.revision) return out;
    TreeBuilder tree;
    for (const std::string& line : lines)
      if (const auto leaf = example::leaf_of(line); leaf && scope.wants(leaf->path.row()))
        tree.add(leaf->path, leaf->value);
    out.have = tree.build();
    return out;
  }

  Result<Receipt> apply(const ChangeSet& changes, const Guard& guard, const Call& call) override {
    const std::lock_guard lock(mutex_);
    if (guard.undo_after) return Error{ErrorKind::unsupported, target_.device + ": a file can't undo itself"};
    if (guard.epoch < epoch_) return Error{ErrorKind::denied, target_.device + ": a newer leader was here"};
    TRY(Lines lines, read(call));
    if (!guard.revision.empty() && guard.revision != revision_of(lines))
      return Error{ErrorKind::conflict, target_.device + " has changed since it was read"};
    epoch_ = guard.epoch;
    Receipt receipt{guard.ticket, {}, {}};
    bool refused = false;
    for (const Change& change : changes) {
      auto done = edit(lines, change);
      refused = refused || !done;
      receipt.outcomes.push_back({change.path, done ? std::nullopt : std::optional(std::move(done.error()))});
    }
    if (!refused) {
      TRY_DONE(write(lines));
      return receipt;
    }
    for (Receipt::Outcome& one : receipt.outcomes)  // atomic: none of them was written
      if (!one.error) one.error = Error{ErrorKind::cancelled, "not done, because another was refused"};
    return receipt;
  }

  Result<Done> settle(std::string_view, Settlement settlement, const Call&) override {
    if (settlement != Settlement::undo) return Done{};
    return Error{ErrorKind::unsupported, target_.device + ": undo is a plan from what is to what was"};
  }

  std::vector<std::string> native(const ChangeSet& changes) const override {
    std::vector<std::string> out;
    for (const Change& change : changes) {
      auto line = change.want ? example::line_of(change) : example::key_of(change.path);
      const std::string verb = change.want ? "set " : "unset ";
      out.push_back(line ? verb + *line : "! " + line.error().text());
    }
    return out;
  }

 private:
  std::string file() const { return target_.folder + "/config"; }

  Result<Lines> read(const Call& call) const {
    if (call.stop.stop_requested()) return Error{ErrorKind::cancelled, target_.device + ": asked to stop"};
    std::ifstream in(file());
    if (!in) return Error{ErrorKind::transient, target_.device + ": can't read " + file()};
    Lines lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    if (in.bad()) return Error{ErrorKind::transient, target_.device + ": the read was cut short"};
    return lines;
  }

  // Beside the file and then in its place, as rename(2) is whole or not at all.
  Result<Done> write(const Lines& lines) const {
    const std::string fresh = file() + ".new";
    std::ofstream out(fresh, std::ios::trunc);
    for (const std::string& line : lines) out << line << "\n";
    out.close();
    if (!out) return Error{ErrorKind::refused, target_.device + ": can't write " + fresh};
    std::error_code error;
    std::filesystem::rename(fresh, file(), error);
    if (error) return Error{ErrorKind::refused, target_.device + ": " + error.message()};
    return Done{};
  }

  static Result<Done> edit(Lines& lines, const Change& change) {
    TRY(const std::string key, example::key_of(change.path));
    const auto is_its = [&](const std::string& line) { return line.starts_with(key + " "); };
    if (!change.want) {
      std::erase_if(lines, is_its);
      return Done{};
    }
    TRY(std::string line, example::line_of(change));
    const auto at = std::find_if(lines.begin(), lines.end(), is_its);
    if (at == lines.end())
      lines.push_back(std::move(line));
    else
      *at = std::move(line);
    return Done{};
  }

  const ExampleTarget target_;
  std::mutex mutex_;  // guards epoch_ and the file between its read and its write
  std::uint64_t epoch_ = 0;
};

}  // namespace

Attached make_example_driver(ExampleTarget target) {
  auto driver = std::make_unique<ExampleDriver>(std::move(target));
  Attached out;
  out.preview = driver.get();
  out.driver = std::move(driver);
  return out;
}

}  // namespace lockstep
