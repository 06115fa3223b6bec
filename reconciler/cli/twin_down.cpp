// `lockstep twin list` and `lockstep twin down`: what runs on this machine, whatever has become of its specs.
#include <date/date.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "reconciler/cli/commands.hpp"
#include "reconciler/cli/opened_cluster.hpp"
#include "reconciler/engine/file_lock.hpp"
#include "reconciler/report/table.hpp"
#include "reconciler/twin/twin.hpp"

namespace lockstep {
namespace {

constexpr const char* kHowWithoutSpecs =
    "`lockstep twin list` names the twins on this machine, and `lockstep twin down --name NAME` takes one "
    "down";

struct Twin {
  std::string id;
  Result<TwinReport> report;
};

// Of a twin whose supervisor has died only its file is left to say whose it was.
TwinRecord kept_record(const std::string& id) {
  std::ifstream in(twin_places(id).record);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  Result<TwinRecord> record = from_text(text);
  return record ? *std::move(record) : TwinRecord{};
}

std::vector<Twin> twins_here() {
  std::vector<Twin> out;
  for (const std::string& id : twin_clusters()) {
    out.push_back({id, examine(id)});
    Result<TwinReport>& report = out.back().report;
    if (report && !report->alive) report->record = kept_record(id);
  }
  return out;
}

std::string state_of(const Twin& twin) {
  if (!twin.report) return twin.report.error().text();
  return twin.report->sound() ? "sound" : twin.report->alive ? "degraded" : "dead";
}

std::string since_of(const TwinReport& report) {
  if (!report.alive) return "";
  const std::chrono::sys_time<std::chrono::milliseconds> at{std::chrono::milliseconds(report.since_unix_ms)};
  return date::format("%FT%TZ", std::chrono::floor<std::chrono::seconds>(at));
}

// Held until the twin is gone: whoever applies or measures meanwhile would take its end for a fault.
Result<std::vector<FileLock>> lock_out_others(const std::string& directory) {
  std::vector<FileLock> out;
  TRY(FileLock writing, lock_for_writing(directory, "lockstep twin down"));
  out.push_back(std::move(writing));
  TRY(FileLock measuring, lock_for_measuring(directory, "lockstep twin down"));
  out.push_back(std::move(measuring));
  return out;
}

// The twins that somebody may mean whose folder has none: of a cluster of that name, or from that folder.
std::string others_like(const OpenedCluster& cluster) {
  std::string out;
  for (const Twin& twin : twins_here()) {
    if (!twin.report || twin.id == cluster.id) continue;
    const TwinRecord& record = twin.report->record;
    if (record.name != cluster.name && record.folder != cluster.folder) continue;
    out += fmt::format("{} of {}, made from {}, is up\n", twin.id, record.name, record.folder);
  }
  return out.empty() ? "" : out + kHowWithoutSpecs + "\n";
}

// `name`: for people. The cluster: null where no specs were read.
int take_down(const std::string& id, const std::string& name, const OpenedCluster* cluster, bool force,
              const Console& console) {
  if (geteuid() != 0)
    return console.fail(
        Error{ErrorKind::denied, "a twin is taken down by root: it is made of namespaces and mounts"});
  if (Result<Done> valid = validate_cluster_id(id); !valid) return console.fail(valid.error());
  const std::string directory = state_directory(id, true);
  const Result<std::vector<FileLock>> locks = lock_out_others(directory);
  if (!locks && !force)
    return console.fail(wrap("not taken down; --force does it all the same", locks.error()));
  const Result<TwinGone> gone = down(id);
  if (!gone) return console.fail(gone.error());
  std::error_code ignored;  // the journal of a twin dies with it; that there is none is as well
  std::filesystem::remove_all(directory, ignored);
  const bool was_there = gone->was_up || !gone->cleaned.empty();
  if (!was_there && cluster == nullptr)
    return console.fail(
        Error{ErrorKind::refused, "no twin is called " + id + "; `lockstep twin list` names them"});
  if (!console.is_text()) {
    console.print_document(nlohmann::json{{"apiVersion", "lockstep.dev/v1alpha1"},
                                          {"kind", "Twin"},
                                          {"cluster", name},
                                          {"id", id},
                                          {"state", gone->was_up ? "down" : "was down"}});
    return kExitInSync;
  }
  for (const std::string& one : gone->cleaned) console.print("took away " + one + "\n");
  console.print(
      fmt::format("the twin of {} {}\n", name, gone->was_up ? "is down; nothing stays" : "was not up"));
  if (!was_there) console.print(others_like(*cluster));
  return kExitInSync;
}

}  // namespace

int run_twin_list(const Console& console) {
  Table table({{"name"}, {"cluster"}, {"folder"}, {"pid", true}, {"since"}, {"state"}});
  nlohmann::json all = nlohmann::json::array();
  for (const Twin& twin : twins_here()) {
    const TwinReport report = twin.report ? *twin.report : TwinReport{};
    const std::string pid = report.alive ? std::to_string(report.supervisor) : "";
    table.add({console.out().paint(Ink::cyan, twin.id), report.record.name, report.record.folder, pid,
               since_of(report), state_of(twin)});
    all.push_back({{"name", twin.id},
                   {"cluster", report.record.name},
                   {"folder", report.record.folder},
                   {"supervisor", report.alive ? report.supervisor : -1},
                   {"since", since_of(report)},
                   {"state", state_of(twin)}});
  }
  if (!console.is_text())
    console.print_document(
        nlohmann::json{{"apiVersion", "lockstep.dev/v1alpha1"}, {"kind", "TwinList"}, {"twins", all}});
  else
    console.print(table.empty() ? "no twin is on this machine\n" : table.render(console.out(), ""));
  return kExitInSync;
}

int run_twin_down(const TwinDownOptions& options, const Console& console) {
  if (!options.name.empty()) return take_down(options.name, options.name, nullptr, options.force, console);
  Aim aim = options.aim;
  aim.twin = true;
  const std::optional<OpenedCluster> cluster = open_cluster(aim, console);
  if (!cluster) {
    if (console.is_text()) console.note(kHowWithoutSpecs);
    return kExitError;
  }
  return take_down(cluster->id, cluster->name, &*cluster, options.force, console);
}

}  // namespace lockstep
