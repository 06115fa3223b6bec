#include "drivers/sonic/patch_switch.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "drivers/sonic/counter_gates.hpp"
#include "drivers/sonic/plan_words.hpp"
#include "drivers/sonic/text_parts.hpp"
#include "specs/model/bounded_json.hpp"
#include "specs/model/printable.hpp"

namespace lockstep::sonic {
namespace {

using std::chrono::seconds;

constexpr seconds kReadLongest{120};  // chosen: sonic-cfggen takes a second or two, the dumps the same
// Chosen: SONiC's sorter has taken 40 minutes for six ports (sonic-buildimage#23945).
constexpr seconds kPatchLongest{3600};
constexpr seconds kReadReserve{5};  // what is left of a call for reading after waiting for a change
constexpr std::size_t kFailureBytes = 400;
constexpr std::string_view kStillRuns =
    ": an earlier config apply-patch of Lockstep still runs on the switch";

// Where one user's changes exclude each other.
constexpr std::string_view kLock = "lock=$HOME/.lockstep-apply-patch.lock\n";

// What `config` prints goes to a file first, so that a lost connection does not stop it in the middle, and
// all files are gone before the first byte is printed. The last 64 KiB have the error.
constexpr std::string_view kWithPatch = R"sh(dir=
save() { dir=$(mktemp -d "${TMPDIR:-/tmp}/lockstep.XXXXXXXXXX") && cat >"$dir/patch.json"; }
clean() { [ -z "$dir" ] || rm -rf "$dir"; dir=; }
trap clean EXIT; trap 'exit 143' INT TERM
run() {
  sudo -n config "$@" </dev/null >"$dir/out" 2>&1
  code=$?
  printed=$(tail -c 65536 "$dir/out")
  [ "$1" = checkpoint ] || clean
  printf '%s\n' "$printed"
  return "$code"
}
)sh";

// `config checkpoint` makes a file of the name in /etc/sonic/checkpoints (generic_updater.py).
std::string checkpoint_name(std::string_view transaction) {
  constexpr std::size_t kMost = 64;
  std::string out = "lockstep-";
  for (const char c : transaction.substr(0, kMost)) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    out += plain ? c : '-';
  }
  return out;
}

seconds left_of(const Call& call) {
  if (call.deadline == Time::max()) return kReadLongest / 2;
  const auto left = std::chrono::floor<seconds>(call.deadline - std::chrono::steady_clock::now());
  return std::clamp(left - kReadReserve, seconds(0), kReadLongest / 2);
}

// Of STATE_DB, with what the ASIC counts.
std::vector<std::string> capability_tables() {
  std::set<std::string> tables;
  for (const std::string& name : counter_capability_rows()) tables.insert(name.substr(0, name.find('|')));
  return {tables.begin(), tables.end()};
}

std::string read_script(PatchSwitch::Wants wants, const Call& call) {
  std::string out(kLock);
  out += "quiet() { [ ! -e \"$lock\" ] || flock -s -w " + std::to_string(left_of(call).count()) +
         " \"$lock\" true; }\n";
  out += R"sh(ready() {
  state=$(sonic-db-cli CONFIG_DB GET CONFIG_DB_INITIALIZED) || return
  printf '%s\n' "$state"
  [ "$state" = 1 ]
}
if part quiet quiet && part ready ready; then
part boot cat /proc/sys/kernel/random/boot_id
part config sonic-cfggen -d --print-data
)sh";
  if (wants.ports || wants.taken_over) out += "part ports sonic-db-dump -n APPL_DB -k 'PORT_TABLE:*' -y\n";
  if (wants.taken_over) out += "part interfaces sonic-db-dump -n APPL_DB -k 'INTF_TABLE:*' -y\n";
  if (wants.ports) {
    out += "part ports sonic-db-dump -n APPL_DB -k 'PORT_TABLE:*' -y\n";
    out += "part neighbors sonic-db-dump -n APPL_DB -k 'LLDP_ENTRY_TABLE:*' -y\n";
  }
  if (wants.sessions) out += "part sessions sonic-db-dump -n STATE_DB -k 'NEIGH_STATE_TABLE|*' -y\n";
  if (wants.hash_seed) out += "part seed sonic-db-dump -n APPL_DB -k 'SWITCH_TABLE:*' -y\n";
  if (wants.groups) {
    out += "part profiles sonic-db-dump -n APPL_DB -k 'BUFFER_PROFILE_TABLE:*' -y\n";
    out += "part groups sonic-db-dump -n APPL_DB -k 'BUFFER_PG_TABLE:*' -y\n";
  }
  for (const std::string& table : wants.capabilities ? capability_tables() : std::vector<std::string>())
    out += "part " + table + " sonic-db-dump -n STATE_DB -k '" + table + "|*' -y\n";
  if (wants.supported) out += "part supported sonic-db-dump -n STATE_DB -k 'PORT_TABLE|*' -y\n";
  return out + "fi\n";
}

std::string apply_script(std::string_view transaction, std::string_view checkpoints) {
  std::string out(kLock);
  out += kWithPatch;
  out += "folder=" + quoted_for_shell(checkpoints) +
         "\npoint=" + (transaction.empty() ? "" : checkpoint_name(transaction)) +
         "\nkept=" + std::to_string(kPatchCheckpoints) + "\n" +
         R"sh(
checkpoint() {
  [ -n "$point" ] || return 0
  run checkpoint "$point" || return
  ls -t "$folder" | grep '^lockstep-[A-Za-z0-9_-]*\.cp\.json$' | tail -n "+$((kept + 1))" |
    while read -r one; do sudo -n config delete-checkpoint "${one%.cp.json}" </dev/null; done >/dev/null 2>&1
  return 0
}
open_lock() { true >>"$lock" && exec 9<"$lock"; }
if part open open_lock && part lock flock -w 3 9 && part save save && part checkpoint checkpoint; then
part apply run apply-patch "$dir/patch.json"
fi
clean
)sh";
  return out;
}

// Of a part that failed, or did not arrive.
Error part_error(const SshRun& run, const std::string& who, const std::string& name,
                 const std::string& what) {
  const SshPart* const part = run.part(name);
  std::string said = part == nullptr ? "" : printable(in_one_line(without_blanks(part->text)), kFailureBytes);
  if (!run.said.empty()) said += (said.empty() ? "" : ": ") + run.said;
  const std::string code = part == nullptr ? "" : " with exit code " + std::to_string(part->status);
  return Error{ErrorKind::refused, who + ": " + what + " failed" + code + (said.empty() ? "" : ": " + said)};
}

// The error in what `config` printed, in one line. click prints the usage and then the error
// (config/main.py, apply_patch: ctx.fail).
std::string error_in(std::string_view printed) {
  constexpr std::string_view kError = "\nError: ";
  const std::string lines = "\n" + std::string(without_blanks(printed));
  const std::size_t at = lines.rfind(kError);
  return in_one_line(without_blanks(at == lines.npos ? lines : lines.substr(at + kError.size())));
}

// Sudo's words (sudo 1.9.13, plugins/sudoers).
bool is_denied(std::string_view error) {
  return error.starts_with("sudo: a ") || error.find("is not allowed to execute") != error.npos ||
         error.find("is not in the sudoers file") != error.npos;
}

// python-jsonpatch 1.33, TestOperation.apply; jsonpointer, where the row has gone.
bool is_test_failure(std::string_view error) {
  return error.find("is not equal to tested value") != error.npos ||
         (error.find("member '") != error.npos && error.find("' not found in {") != error.npos);
}

Error patch_error(const std::string& who, const SshPart& part) {
  const std::string error = error_in(part.text);
  if (is_denied(error))
    return Error{ErrorKind::denied,
                 who + ": sudo does not let this user run config: " + printable(error, kFailureBytes)};
  if (is_test_failure(error))
    return Error{ErrorKind::conflict, who + ": CONFIG_DB has changed since it was read"};
  return Error{ErrorKind::refused, who + ": config apply-patch: " + patch_failure(part.text)};
}

const SshPart* part_that_worked(const SshRun& run, std::string_view name) {
  const SshPart* const part = run.part(name);
  return part != nullptr && part->status == 0 ? part : nullptr;
}

Result<StateRows> dump_in(const SshRun& run, const std::string& who, const std::string& name,
                          std::string_view table, char separator) {
  const SshPart* const part = part_that_worked(run, name);
  if (part == nullptr) return part_error(run, who, name, "sonic-db-dump of " + std::string(table));
  return rows_of_dump(part->text, table, separator);
}

PatchPorts supported_of(const StateRows& rows) {
  PatchPorts out;
  for (const auto& [port, fields] : rows) {
    const auto listed = [&fields](const char* field) -> std::optional<std::vector<std::string>> {
      const auto found = fields.find(std::string_view(field));
      if (found == fields.end() || found->second.empty()) return std::nullopt;
      if (found->second == "N/A") return std::vector<std::string>();
      return parts_of(found->second, ',');
    };
    out[port] = {.speeds = listed("supported_speeds"), .fecs = listed("supported_fecs")};
  }
  return out;
}

void add_capabilities(const SshRun& run, const std::string& who, PatchReading& out) {
  const std::vector<std::string> names = counter_capability_rows();
  for (const std::string& table : capability_tables()) {
    Result<StateRows> rows = dump_in(run, who, table, table, '|');
    if (!rows) {
      out.capabilities_unread = rows.error();
      return;
    }
    for (auto& [key, fields] : *rows)
      if (const std::string name = table + "|" + key; std::ranges::find(names, name) != names.end())
        out.state.capabilities[name] = std::move(fields);
  }
}

void add_states(const SshRun& run, const std::string& who, PatchSwitch::Wants wants, PatchReading& out) {
  if (wants.ports) {
    Result<StateRows> ports = dump_in(run, who, "ports", "PORT_TABLE", ':');
    const Result<StateRows> neighbors = dump_in(run, who, "neighbors", "LLDP_ENTRY_TABLE", ':');
    if (ports && neighbors)
      add_port_states(*std::move(ports), *neighbors, out.state);
    else
      out.ports_unread = ports ? neighbors.error() : ports.error();
  }
  if (wants.sessions) {
    const Result<StateRows> sessions = dump_in(run, who, "sessions", "NEIGH_STATE_TABLE", '|');
    if (sessions)
      add_sessions(*sessions, out.state);
    else
      out.sessions_unread = sessions.error();
  }
  if (wants.taken_over && !out.ports_unread) {
    const Result<StateRows> interfaces = dump_in(run, who, "interfaces", "INTF_TABLE", ':');
    out.taken_over.ports = out.state.port_rows;
    if (interfaces)
      add_interface_rows(*interfaces, ":", out.taken_over);
    else
      out.taken_over_unread = interfaces.error();
  }
  if (wants.hash_seed) {
    const Result<StateRows> rows = dump_in(run, who, "seed", "SWITCH_TABLE", ':');
    if (rows)
      add_hash_seed(*rows, out.state);
    else
      out.hash_seed_unread = rows.error();
  }
  if (wants.groups) {
    const Result<StateRows> profiles = dump_in(run, who, "profiles", "BUFFER_PROFILE_TABLE", ':');
    const Result<StateRows> groups = dump_in(run, who, "groups", "BUFFER_PG_TABLE", ':');
    if (profiles && groups)
      add_groups(*profiles, *groups, ":", out.state);
    else
      out.groups_unread = profiles ? groups.error() : profiles.error();
  }
  if (wants.capabilities) add_capabilities(run, who, out);
  // SONiC's dry run judges what is not known here.
  if (wants.supported)
    if (const Result<StateRows> rows = dump_in(run, who, "supported", "PORT_TABLE", '|'))
      out.supported = supported_of(*rows);
}

}  // namespace

std::string patch_failure(std::string_view printed) {
  std::string line = error_in(printed);
  // "Failed validating patch: [{...}]", "Validate json patch: [{...}] failed due to: ..." (main.py).
  for (std::size_t begin = line.find("[{"); begin != line.npos; begin = line.find("[{")) {
    const std::size_t end = line.rfind("}]");
    line.replace(begin, end == line.npos || end < begin ? line.npos : end + 2 - begin, "[...]");
  }
  if (line.empty()) line = "it failed without a word";
  return printable(line, kFailureBytes);
}

Result<StateRows> rows_of_dump(std::string_view text, std::string_view table, char separator) {
  const std::string what = "sonic-db-dump of " + std::string(table);
  const Result<nlohmann::json> json = parse_bounded_json(text, {.depth = 8});
  if (!json) return wrap(what, json.error());
  if (!json->is_object()) return Error{ErrorKind::refused, what + " printed no JSON object"};
  StateRows rows;
  const std::string prefix = std::string(table) + separator;
  for (const auto& [name, held] : json->items()) {
    // A dump also has texts and sets; of a row that goes meanwhile there is no value.
    if (!name.starts_with(prefix) || !held.is_object() || !held.contains("value") ||
        !held.at("value").is_object())
      continue;
    RedisHash fields;
    for (const auto& [field, value] : held.at("value").items()) {
      if (!value.is_string())
        return Error{ErrorKind::refused, what + ": field " + printable(field) + " is no text"};
      fields.emplace(field, value.get<std::string>());
    }
    rows.emplace(name.substr(prefix.size()), std::move(fields));
  }
  return rows;
}

Result<PatchReading> PatchSwitch::read(Wants wants, const Call& call) const {
  const SshRun run = ssh_.run(read_script(wants, call), "", kReadLongest, call);
  const std::string who = server().text();
  if (run.error) return *run.error;
  if (!part_that_worked(run, "quiet")) return Error{ErrorKind::transient, who + std::string(kStillRuns)};
  if (const SshPart* const ready = run.part("ready"); ready == nullptr || ready->status != 0) {
    const std::string said = ready == nullptr ? "" : std::string(without_blanks(ready->text));
    if (ready != nullptr && ready->status == 1 && (said.empty() || said == "0"))
      return Error{ErrorKind::transient, who +
                                             ": CONFIG_DB is not initialised yet: SONiC starts, or loads or "
                                             "migrates its configuration"};
    return part_error(run, who, "ready", "sonic-db-cli");
  }
  const SshPart* const boot = part_that_worked(run, "boot");
  const SshPart* const config = part_that_worked(run, "config");
  if (boot == nullptr) return part_error(run, who, "boot", "reading the kernel's boot id");
  if (config == nullptr) return part_error(run, who, "config", "sonic-cfggen");
  PatchReading out;
  out.boot_id = printable(without_blanks(boot->text), 64);
  out.config_text = config->text;
  Result<ConfigDb> parsed = parse_config_db(out.config_text);
  if (!parsed)
    return Error{ErrorKind::refused, who + ": what sonic-cfggen printed: " + parsed.error().text()};
  out.config = *std::move(parsed);
  add_states(run, who, wants, out);
  return out;
}

Result<Done> PatchSwitch::try_patch(const std::string& patch, const Call& call) const {
  const std::string body =
      std::string(kWithPatch) + "part save save && part try run apply-patch -d \"$dir/patch.json\"\nclean";
  const SshRun run = ssh_.run(body, patch, kPatchLongest, call);
  if (run.error) return *run.error;
  const std::string who = server().text();
  if (part_that_worked(run, "try")) return Done{};
  const SshPart* const tried = run.part("try");
  if (tried == nullptr) return part_error(run, who, "save", "writing the patch to a temporary file");
  return patch_error(who, *tried);
}

std::optional<PatchSwitch::Failure> PatchSwitch::apply_patch(const std::string& patch,
                                                             std::string_view transaction,
                                                             const Call& call) const {
  const SshRun run = ssh_.run(apply_script(transaction, checkpoints_), patch, kPatchLongest, call);
  const std::string who = server().text();
  if (const SshPart* const applied = run.part("apply")) {
    if (applied->status == 0) return std::nullopt;
    return Failure{patch_error(who, *applied), true};
  }
  // Each of these is before the change, and nothing follows one that failed.
  const auto failed = [&run](const char* name) -> const SshPart* {
    const SshPart* const part = run.part(name);
    return part != nullptr && part->status != 0 ? part : nullptr;
  };
  if (failed("lock") != nullptr) return Failure{Error{ErrorKind::transient, who + std::string(kStillRuns)}};
  if (failed("open") != nullptr)
    return Failure{part_error(run, who, "open", "opening the lock ~/.lockstep-apply-patch.lock")};
  if (failed("save") != nullptr)
    return Failure{part_error(run, who, "save", "writing the patch to a temporary file")};
  if (const SshPart* const taken = failed("checkpoint"))
    return Failure{is_denied(error_in(taken->text))
                       ? patch_error(who, *taken)
                       : part_error(run, who, "checkpoint", "config checkpoint")};
  if (!run.error) return Failure{part_error(run, who, "apply", "starting config apply-patch")};
  if (!run.may_run) return Failure{*run.error};
  Error unknown = *run.error;
  unknown.kind = ErrorKind::unknown_outcome;
  return Failure{std::move(unknown), true};
}

Result<Done> PatchSwitch::raise_ports(std::span<const std::string> ports, const Call& call) const {
  std::string body;
  for (std::size_t i = 0; i < ports.size(); ++i)
    body += "part raise" + std::to_string(i) + " sudo -n config interface startup -- " +
            quoted_for_shell(ports[i]) + " </dev/null\n";
  const SshRun run = ssh_.run(body, "", kPatchLongest, call);
  if (run.error) return *run.error;
  for (std::size_t i = 0; i < ports.size(); ++i)
    if (const std::string name = "raise" + std::to_string(i); !part_that_worked(run, name))
      return part_error(run, server().text(), name, "config interface startup of " + printable(ports[i]));
  return Done{};
}

}  // namespace lockstep::sonic
