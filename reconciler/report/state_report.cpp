#include "reconciler/report/state_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "reconciler/report/earlier_runs.hpp"
#include "reconciler/report/table.hpp"
#include "reconciler/session/baselines.hpp"

namespace lockstep {
namespace {

std::string size_text(std::uint64_t bytes) {
  constexpr double kKib = 1024;
  const double kib = static_cast<double>(bytes) / kKib;
  return kib < kKib ? fmt::format("{:.1f} KiB", kib) : fmt::format("{:.1f} MiB", kib / kKib);
}

std::string baselines_text(const std::vector<BlobEntry>& blobs) {
  std::string out;
  for (const BlobEntry& blob : blobs)
    if (const std::string suite = suite_of_baseline(blob.key); !suite.empty())
      out += compose("{}{} (accepted {})", out.empty() ? "" : ", ", suite, blob.written);
  return out.empty() ? "none" : out;
}

std::string changes_text(const StoredState& state) {
  std::string out = counted(state.totals.changes, "change");
  for (const std::uint64_t change : state.in_flight) out += compose("; change {} is in flight", change);
  for (const OwedChange& one : state.owed) out += compose("; change {} is not validated yet", one.change);
  return out;
}

std::string last_backup_text(const std::optional<Backup>& backup) {
  if (!backup) return "never";
  return compose("{}, {}, {}", backup->at, backup->file, counted(backup->changes, "change"));
}

nlohmann::json head(const OpenedCluster& cluster, std::string_view kind) {
  return {{"kind", kind},
          {"cluster", cluster.name},
          {"id", cluster.id},
          {"uuid", cluster.uuid().empty() ? nlohmann::json() : nlohmann::json(cluster.uuid())},
          {"twin", cluster.twin}};
}

}  // namespace

std::string state_text(const OpenedCluster& cluster, const StoredState& state, const Terminal& terminal) {
  const StoreFile& file = state.file;
  std::string out = terminal.paint(Ink::bold, "state of " + cluster.title()) + compose(": {}", file.file);
  if (!file.begun) return out + ": nothing was ever written here\n";
  out += compose(" ({}, layout {})\n", size_text(file.bytes), file.layout);
  const auto line = [&out](const char* what, const std::string& text) {
    out += compose("  {:<12}{}\n", what, text);
  };
  if (!cluster.twin)
    line("UUID", cluster.uuid().empty() ? "none yet: the next apply gives it one" : cluster.uuid());
  line("leader", state.leader
                     ? compose("{}; epoch {}", *state.leader, file.epoch)
                     : compose("none (no command is changing the cluster); last epoch {}", file.epoch));
  line("changes", changes_text(state));
  line("settings", compose("{} were written by Lockstep", state.totals.written));
  line("baselines", baselines_text(state.blobs));
  line("last backup", last_backup_text(file.last_backup));
  Table table({{"change", true}, {"begun"}, {"outcome"}, {"user"}, {"command"}});
  for (const ChangeRecord& one : state.newest)
    table.add({std::to_string(one.change), one.begun,
               one.ended.empty() ? "in flight" : outcome_words(one.outcome), one.author, one.reason});
  return table.empty() ? out : out + table.render(terminal, "  ");
}

nlohmann::json state_json(const OpenedCluster& cluster, const StoredState& state) {
  nlohmann::json document = head(cluster, "State");
  const StoreFile& file = state.file;
  document["file"] = file.file;
  document["begun"] = file.begun;
  document["bytes"] = file.bytes;
  document["layout"] = file.layout;
  document["epoch"] = file.epoch;
  document["leader"] = state.leader ? nlohmann::json(*state.leader) : nlohmann::json();
  nlohmann::json newest = nlohmann::json::array();
  for (const ChangeRecord& one : state.newest)
    newest.push_back({{"change", one.change},
                      {"begun", one.begun},
                      {"ended", one.ended},
                      {"outcome", one.outcome},
                      {"author", one.author},
                      {"reason", one.reason},
                      {"digest", one.digest}});
  document["changes"] = {{"total", state.totals.changes},
                         {"tickets", state.totals.tickets},
                         {"inFlight", state.in_flight},
                         {"neverMeasured", owed_json(state.owed)},
                         {"newest", newest}};
  document["settingsWritten"] = state.totals.written;
  document["remedies"] = state.totals.cures;
  nlohmann::json kept = nlohmann::json::array();
  for (const BlobEntry& blob : state.blobs)
    kept.push_back({{"key", blob.key}, {"written", blob.written}, {"bytes", blob.bytes}});
  document["kept"] = kept;
  document["lastBackup"] = nullptr;
  if (file.last_backup)
    document["lastBackup"] = {{"file", file.last_backup->file},
                              {"at", file.last_backup->at},
                              {"changes", file.last_backup->changes}};
  return document;
}

std::string backup_text(const OpenedCluster& cluster, const Backup& backup) {
  std::string out = compose("backed up {}: {}, {} in {}\n", cluster.title(), backup.file,
                            counted(backup.changes, "change"), size_text(backup.bytes));
  if (backup.not_noted)
    out += compose("`lockstep state show` does not know of it: {}\n", backup.not_noted->text());
  return out;
}

nlohmann::json backup_json(const OpenedCluster& cluster, const Backup& backup) {
  nlohmann::json document = head(cluster, "Backup");
  document["file"] = backup.file;
  document["at"] = backup.at;
  document["bytes"] = backup.bytes;
  document["changes"] = backup.changes;
  document["epoch"] = backup.epoch;
  document["noted"] = !backup.not_noted;
  return document;
}

std::string restored_text(const OpenedCluster& cluster, const std::string& file, const Restored& restored) {
  std::string out = compose("restored {} from {}: {}; the next epoch is above {}\n", cluster.title(), file,
                            counted(restored.changes, "change"), restored.epoch);
  if (!restored.kept.empty()) out += compose("what was there before is kept: {}\n", restored.kept);
  return out + "what was changed after that backup is not known here: `lockstep drift` shows what differs\n";
}

nlohmann::json restored_json(const OpenedCluster& cluster, const std::string& file,
                             const Restored& restored) {
  nlohmann::json document = head(cluster, "Restored");
  document["from"] = file;
  document["changes"] = restored.changes;
  document["epoch"] = restored.epoch;
  document["keptBefore"] = restored.kept.empty() ? nlohmann::json() : nlohmann::json(restored.kept);
  return document;
}

std::string adopted_text(const OpenedCluster& cluster, const Adopted& adopted) {
  std::string out =
      compose("{} has what cluster '{}' (specs in {}) stored of this machine: {}\n", cluster.title(),
              adopted.from.cluster, adopted.from.folder, counted(adopted.restored.changes, "change"));
  if (!adopted.restored.kept.empty())
    out += compose("what was there before is kept: {}\n", adopted.restored.kept);
  return out + "`lockstep plan` shows what is not validated yet and what would change\n";
}

nlohmann::json adopted_json(const OpenedCluster& cluster, const Adopted& adopted) {
  nlohmann::json document = head(cluster, "Adopted");
  document["from"] = {{"cluster", adopted.from.cluster},
                      {"uuid", adopted.from.uuid},
                      {"folder", adopted.from.folder},
                      {"directory", adopted.from.directory}};
  document["changes"] = adopted.restored.changes;
  document["epoch"] = adopted.restored.epoch;
  const std::string& kept = adopted.restored.kept;
  document["keptBefore"] = kept.empty() ? nlohmann::json() : nlohmann::json(kept);
  return document;
}

}  // namespace lockstep
