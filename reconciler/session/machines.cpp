#include "reconciler/session/machines.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "reconciler/session/opened_cluster.hpp"
#include "specs/files/own_folder.hpp"
#include "specs/files/read_file.hpp"
#include "specs/files/replace_file.hpp"

namespace lockstep {
namespace {

constexpr mode_t kOwnerOnly = 0600;

std::string record_file(const std::string& machine, const MachineFolders& folders) {
  return folders.records + "/" + machine + ".json";
}

Result<Done> write_record(const std::string& machine, const MachineFolders& folders,
                          const MachineUser& user) {
  TRY_DONE(make_private_folder(folders.records));
  const nlohmann::json record{
      {"cluster", user.cluster}, {"folder", user.folder}, {"directory", user.directory}, {"uuid", user.uuid}};
  const std::string text = record.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  return replace_file(record_file(machine, folders), text, {.mode = kOwnerOnly});
}

// A state directory that is empty or missing has nothing to lose.
Result<bool> remembers(const MachineUser& user) {
  TRY(const StoreFile file, describe(user.directory));
  return file.begun;
}

bool is_same(const MachineUser& one, const MachineUser& other) {
  std::error_code ignored;
  return std::filesystem::weakly_canonical(one.directory, ignored) ==
         std::filesystem::weakly_canonical(other.directory, ignored);
}

std::string why_anothers(const MachineUser& last, const MachineUser& user) {
  const std::string takes_over = "`lockstep state adopt " + user.folder + "` takes it over";
  if (last.cluster == user.cluster && last.uuid == user.uuid && !user.uuid.empty())
    return "this machine was changed before with this cluster's state in " + last.directory +
           ", and this command has it in " + user.directory +
           ": its journal, and what is not validated yet, would be lost; set LOCKSTEP_STATE_DIR as it was, "
           "or " +
           takes_over;
  // Two copies of one example have the same name.
  const std::string uuid = last.uuid.empty() || last.uuid == user.uuid ? "" : "UUID " + last.uuid + ", ";
  return "this machine was changed before by cluster '" + last.cluster + "' (" + uuid + "specs in " +
         last.folder + "): its journal, and what is not validated yet, would be lost; " + takes_over;
}

// Refused: the state for this machine is another cluster's. Otherwise whether its record names this user.
Result<bool> is_users(const std::string& machine, const MachineFolders& folders, const MachineUser& user) {
  TRY(const std::optional<MachineUser> last, last_user(machine, folders));
  if (!last) return false;
  if (is_same(*last, user)) return true;
  TRY(const bool holds, remembers(*last));
  if (!holds) return false;
  return Error{ErrorKind::refused, why_anothers(*last, user)};
}

}  // namespace

MachineFolders machine_folders() {
  if (const char* const set = std::getenv("LOCKSTEP_RUN_DIR"); set != nullptr && *set != '\0')
    return {set, std::string(set) + "/machines"};
  const std::string records = usual_state_top() + "/machines";
  if (geteuid() == 0) return {"/run/lockstep/locks", records};
  const char* const xdg = std::getenv("XDG_RUNTIME_DIR");
  return {xdg != nullptr && *xdg != '\0' ? std::string(xdg) + "/lockstep" : records, records};
}

Machines::Machines(std::vector<std::string> machines, MachineFolders folders, bool recorded)
    : machines_(std::move(machines)), folders_(std::move(folders)), recorded_(recorded) {
  std::sort(machines_.begin(), machines_.end());
  machines_.erase(std::unique(machines_.begin(), machines_.end()), machines_.end());
}

Result<std::vector<FileLock>> Machines::take(const MachineUser& user, const std::string& command,
                                             WallTime now) const {
  std::vector<FileLock> locks;
  for (const std::string& machine : machines_) {
    TRY(FileLock lock, lock_for_machine(folders_.locks, machine, command, now));
    locks.push_back(std::move(lock));
    if (!recorded_) continue;
    TRY(const bool recorded, is_users(machine, folders_, user));
    if (!recorded) TRY_DONE(write_record(machine, folders_, user));
  }
  return locks;
}

std::string Machines::why_refused(const MachineUser& user) const {
  if (!recorded_) return "";
  for (const std::string& machine : machines_)
    if (const auto known = is_users(machine, folders_, user); !known) return known.error().what;
  return "";
}

Result<std::optional<MachineUser>> last_user(const std::string& machine, const MachineFolders& folders) {
  const std::string file = record_file(machine, folders);
  constexpr std::size_t kLargest = std::size_t{1} << 16;  // three names
  const FileText read = read_named(file, kLargest);
  if (read.outcome == FileText::Outcome::missing) return std::optional<MachineUser>();
  if (!read) return Error{ErrorKind::refused, file + ": " + read.why};
  const nlohmann::json record = nlohmann::json::parse(read.text, nullptr, false);
  MachineUser out;
  for (const auto& [key, field] :
       {std::pair{"cluster", &MachineUser::cluster}, std::pair{"folder", &MachineUser::folder},
        std::pair{"directory", &MachineUser::directory}}) {
    if (!record.is_object() || !record.contains(key) || !record[key].is_string())
      return Error{ErrorKind::refused,
                   file + ": is no record of who changed this machine; remove it if nobody else does"};
    out.*field = record[key].get<std::string>();
  }
  // Records of a cluster before UUIDs have none.
  if (const auto uuid = record.find("uuid"); uuid != record.end() && uuid->is_string())
    out.uuid = uuid->get<std::string>();
  return std::optional(std::move(out));
}

Result<Adopted> adopt(const std::string& machine, const MachineFolders& folders, const MachineUser& user,
                      const std::string& command, const StoreOptions& options) {
  TRY(const FileLock lock, lock_for_machine(folders.locks, machine, command, options.now()));
  TRY(const std::optional<MachineUser> last, last_user(machine, folders));
  if (!last || is_same(*last, user))
    return Error{ErrorKind::refused,
                 "no other cluster changed this machine before: there is nothing to take over"};
  TRY(Restored restored, take_over(last->directory, user.directory, command, options));
  TRY_DONE(write_record(machine, folders, user));
  return Adopted{*last, std::move(restored)};
}

}  // namespace lockstep
