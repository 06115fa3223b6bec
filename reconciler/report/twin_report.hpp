// The output of `lockstep twin`: the state of one twin, the twins on this machine, and the available faults.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "reconciler/report/terminal.hpp"
#include "reconciler/session/opened_cluster.hpp"
#include "reconciler/twin/faults.hpp"
#include "reconciler/twin/twin.hpp"

namespace lockstep {

std::string twin_up_text(const OpenedCluster& cluster, const TwinHandle& handle);
nlohmann::json twin_up_json(const OpenedCluster& cluster, const TwinHandle& handle);
std::string twin_progress_line(const TwinProgress& at);

// `other`: how it differs from its specs (differences()).
std::string twin_status_text(const OpenedCluster& cluster, const TwinReport& report,
                             const std::vector<std::string>& other, const Terminal& terminal);
nlohmann::json twin_status_json(const OpenedCluster& cluster, const TwinReport& report,
                                const std::vector<std::string>& other);

std::string faults_text(const Terminal& terminal);
nlohmann::json faults_json();
nlohmann::json twin_broken_json(const OpenedCluster& cluster, const std::string& fault,
                                const std::vector<std::string>& done);

// `cluster`: its name, for people; `id`: the twin's own.
std::string twin_down_text(const std::string& cluster, const TwinGone& gone);
nlohmann::json twin_down_json(const std::string& cluster, const std::string& id, const TwinGone& gone);

// A twin on this machine, with its state or the reason why it can't be read.
struct TwinHere {
  std::string id;
  Result<TwinReport> report;
};
std::string twins_text(const std::vector<TwinHere>& twins, const Terminal& terminal);
nlohmann::json twins_json(const std::vector<TwinHere>& twins);

}  // namespace lockstep
