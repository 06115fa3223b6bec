// Jobs running on a machine that a measurement's traffic must not disturb.
//
// Sources are the cgroups of Slurm's jobs (slurm.schedmd.com, cgroup_v2.html and cgroups.html): in version 2,
// from Slurm 22.05, /sys/fs/cgroup/system.slice/slurmstepd.scope/job_*, counted if a process is in it; in
// version 1 /sys/fs/cgroup/*/slurm/uid_*/job_*; and NVML for processes that compute on a GPU, whoever started
// them. No scheduler is contacted. Promises: changes nothing; what can't be determined at the moment (NVML
// does not answer) counts as a job. Refuses nothing.
#pragma once

#include <string>

#include "drivers/linux/host/files.hpp"
#include "drivers/linux/host/nvml.hpp"

namespace lockstep {

// "Slurm job 42 (and 1 more)"; empty: none.
std::string running_jobs(const HostFiles& files, Nvml& nvml, const Call& call);

}  // namespace lockstep
