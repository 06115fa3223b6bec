#include "reconciler/session/opened_cluster.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <utility>

#include "reconciler/session/maintenance.hpp"
#include "reconciler/session/numbers.hpp"
#include "reconciler/twin/twin.hpp"
#include "specs/fabric/proofs.hpp"
#include "specs/fabric/undeclared_ports.hpp"

namespace lockstep {
namespace {

Result<std::uint64_t> twin_link_rate(const ClusterSource& source, const std::string& id) {
  if (source.link_rate.empty()) return recorded_twin(id).value_or(TwinRecord{}).link_rate;
  TRY(const BitRate rate, parse_bit_rate(source.link_rate));
  if (rate.bits_per_second == 0)
    return Error{ErrorKind::invalid_spec, "a link rate of " + source.link_rate + " carries nothing"};
  return rate.bits_per_second;
}

Result<CompileOptions> compile_options(const ClusterSource& source, const OpenedCluster& opened) {
  CompileOptions options;
  options.today = source.today.value_or(today());
  options.max_entries = source.max_entries;
  TRY(options.allocation.lock, read_allocation_lock(opened.folder));
  options.allocation.renumber = source.renumber;
  if (!source.twin) return options;
  options.twin = TwinScale{.link_rate = opened.link_rate};
  if (source.renumber) return options;
  TRY(std::optional<AllocationLock> own, numbers_of_twin(state_directory(opened)));
  if (own) options.allocation.lock = std::move(own);
  return options;
}

void move_into(Diagnostics& all, Diagnostics more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

Date today() {
  const auto days = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
  return Date{static_cast<std::int32_t>(days.time_since_epoch().count())};
}

Result<OpenedCluster> load_cluster(const ClusterSource& source) {
  Loaded loaded = load(source.specs);
  OpenedCluster opened;
  opened.twin = source.twin;
  opened.catalog = std::move(loaded.catalog);
  opened.diagnostics = std::move(loaded.diagnostics);
  opened.without_effect = std::move(loaded.without_effect);
  if (!opened.valid()) return opened;
  std::error_code ignored;  // a folder that can't be made absolute keeps the name it was given
  opened.folder = std::filesystem::weakly_canonical(opened.catalog.directory, ignored).string();
  if (opened.folder.empty()) opened.folder = opened.catalog.directory;
  const std::string home = source.stands_for.empty()
                               ? opened.folder
                               : std::filesystem::weakly_canonical(source.stands_for, ignored).string();
  opened.name = opened.catalog.clusters.empty() ? std::filesystem::path(home).filename().string()
                                                : opened.catalog.clusters.front().metadata.name.value;
  opened.id = twin_cluster_id(opened.name, home);

  if (source.twin) {
    TRY(opened.link_rate, twin_link_rate(source, opened.id));
  }
  TRY(const CompileOptions options, compile_options(source, opened));
  if (!source.twin && options.allocation.lock) opened.lock = *options.allocation.lock;
  // A clone in a folder of another name is the same cluster.
  if (const auto& cluster = opened.lock.cluster; cluster && opened.catalog.clusters.empty())
    if (identity_name(opened.name) != cluster->name) opened.name = cluster->name;
  opened.compiled = compile(opened.catalog, options);
  move_into(opened.diagnostics, opened.compiled.diagnostics);
  move_into(opened.without_effect, std::exchange(opened.compiled.by_hand, {}));
  move_into(opened.without_effect, undeclared_ports(opened.catalog, opened.compiled.topology));
  opened.maintenance = in_maintenance(opened.catalog, *options.today, opened.diagnostics);
  if (opened.valid()) move_into(opened.diagnostics, prove(opened.catalog, opened.compiled.topology));
  return opened;
}

Result<Done> has_devices(const OpenedCluster& cluster) {
  if (!cluster.compiled.topology.devices.empty()) return Done{};
  return Error{ErrorKind::invalid_spec, cluster.catalog.device_sets.empty()
                                            ? "the specs name no device: there is no DeviceSet"
                                            : "the specs name no device: each DeviceSet is empty"};
}

std::string state_directory(const OpenedCluster& cluster) {
  std::string of_folder = state_directory(cluster.id, cluster.twin);
  if (cluster.twin || cluster.uuid().empty()) return of_folder;
  const std::string own = identity_directory(cluster);
  std::error_code unseen;
  const bool to_be_moved =
      !std::filesystem::exists(own, unseen) && std::filesystem::exists(of_folder, unseen);
  return to_be_moved ? of_folder : own;
}

std::string identity_directory(const OpenedCluster& cluster) {
  return state_top() + "/" + identity_name(cluster.name) + "-" + cluster.uuid();
}

std::string state_top() {
  if (const char* const set = std::getenv("LOCKSTEP_STATE_DIR"); set != nullptr && *set != '\0') return set;
  return usual_state_top();
}

std::string usual_state_top() {
  if (geteuid() == 0) return "/var/lib/lockstep";
  if (const char* const xdg = std::getenv("XDG_STATE_HOME"); xdg != nullptr && *xdg != '\0')
    return std::string(xdg) + "/lockstep";
  const char* const home = std::getenv("HOME");
  return std::string(home != nullptr ? home : ".") + "/.local/state/lockstep";
}

std::string state_directory(const std::string& id, bool twin) {
  return state_top() + "/" + id + (twin ? "-twin" : "");
}

}  // namespace lockstep
