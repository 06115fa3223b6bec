#include "drivers/linux/host/jobs.hpp"

#include <set>

#include "drivers/linux/host/gpu.hpp"

namespace lockstep {
namespace {

constexpr std::string_view kCgroups = "/sys/fs/cgroup";
constexpr std::string_view kJob = "job_";

void add_jobs(const HostFiles& files, const std::string& folder, std::set<std::string>& jobs) {
  for (const std::string& name : files.names(folder)) {
    if (!name.starts_with(kJob)) continue;
    // Only version 2 has the file: an empty group may remain for a moment after its job has ended.
    const Result<std::string> events = files.read(folder + "/" + name + "/cgroup.events");
    if (!events || events->find("populated 0") == std::string::npos) jobs.insert(name.substr(kJob.size()));
  }
}

std::set<std::string> slurm_jobs(const HostFiles& files) {
  std::set<std::string> jobs;
  const std::string top(kCgroups);
  // With several slurmd on one machine each has a scope, or a folder, with its node's name.
  for (const std::string& scope : files.names(top + "/system.slice"))
    if (scope.ends_with("slurmstepd.scope")) add_jobs(files, top + "/system.slice/" + scope, jobs);
  for (const std::string& controller : files.names(top))
    for (const std::string& slurm : files.names(top + "/" + controller))
      if (slurm == "slurm" || slurm.starts_with("slurm_"))
        for (const std::string& user : files.names(top + "/" + controller + "/" + slurm))
          if (user.starts_with("uid_"))
            add_jobs(files, top + "/" + controller + "/" + slurm + "/" + user, jobs);
  return jobs;
}

}  // namespace

std::string running_jobs(const HostFiles& files, Nvml& nvml, const Call& call) {
  const std::set<std::string> jobs = slurm_jobs(files);
  if (!jobs.empty())
    return "Slurm job " + *jobs.begin() +
           (jobs.size() > 1 ? " (and " + std::to_string(jobs.size() - 1) + " more)" : "");
  const HostGpus gpus = read_gpus(files, read_pci(files), nvml, call);
  // Without the library there is no driver either that a job could compute with.
  if (gpus.nvml_missing && gpus.nvml_missing->kind != ErrorKind::unsupported)
    return "whether its GPUs compute can't be determined: " + gpus.nvml_missing->text();
  unsigned processes = 0;
  for (const HostGpu& one : gpus.all)
    if (one.nvml) processes += one.nvml->compute_processes.value_or(0);
  if (processes == 0) return "";
  return processes == 1 ? "a process computes on a GPU"
                        : std::to_string(processes) + " processes compute on GPUs";
}

}  // namespace lockstep
