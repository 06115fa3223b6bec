// Jobs on a recorded machine: cgroups of Slurm as folders, GPUs through a stub of NVML.
#include "drivers/linux/host/jobs.hpp"
#include "tests/unit/linux/host_lab.hpp"
#include "tests/unit/linux/host_nvml.hpp"

namespace lockstep {
namespace {

class JobsTest : public HostLab {
 protected:
  void SetUp() override {
    stub = load_nvml_stub(LOCKSTEP_NVML_STUB);
    ASSERT_NE(stub, nullptr);
  }
  std::string jobs(const char* library = LOCKSTEP_NVML_STUB,
                   std::chrono::milliseconds patience = std::chrono::seconds(5)) {
    Nvml nvml("/", library);
    return running_jobs(HostFiles(host.root()), nvml, within(patience));
  }

  nvml_stub* stub = nullptr;
};

TEST_F(JobsTest, AnIdleMachineHasNone) {
  EXPECT_EQ(jobs(), "");
  host.file("sys/fs/cgroup/system.slice/slurmd.service/cgroup.events", "populated 1\nfrozen 0\n");
  host.file("sys/fs/cgroup/system.slice/slurmstepd.scope/system/cgroup.events", "populated 1\nfrozen 0\n");
  EXPECT_EQ(jobs(), "") << "Slurm's daemons are no job";
}

TEST_F(JobsTest, FindsSlurmJobsByTheirCgroups) {
  const std::string folder = "sys/fs/cgroup/system.slice/slurmstepd.scope";
  host.file(folder + "/job_41/cgroup.events", "populated 0\nfrozen 0\n");
  EXPECT_EQ(jobs(), "") << "it has ended";
  host.file(folder + "/job_42/cgroup.events", "populated 1\nfrozen 0\n");
  EXPECT_EQ(jobs(), "Slurm job 42");
  host.file("sys/fs/cgroup/system.slice/gpu1b_slurmstepd.scope/job_43/cgroup.events", "populated 1\n");
  EXPECT_EQ(jobs(), "Slurm job 42 (and 1 more)");
}

TEST_F(JobsTest, FindsSlurmJobsInVersion1Cgroups) {
  for (const char* const controller : {"cpuset", "memory"})
    host.file(std::string("sys/fs/cgroup/") + controller + "/slurm/uid_1000/job_7/step_0/cgroup.procs",
              "4711\n");
  EXPECT_EQ(jobs(), "Slurm job 7");
}

TEST_F(JobsTest, AnyComputeProcessOnAGpuIsAJob) {
  stub->gpus[1].processes = 1;
  EXPECT_EQ(jobs(), "a process computes on a GPU");
  stub->gpus[0].processes = 2;
  EXPECT_EQ(jobs(), "3 processes compute on GPUs");
  EXPECT_EQ(jobs("/nonexistent"), "") << "no library, no driver";
}

TEST_F(JobsTest, AnUndeterminedStateCountsAsAJob) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  stub->hang_fd = ends[0];
  EXPECT_EQ(jobs(LOCKSTEP_NVML_STUB, std::chrono::milliseconds(50)),
            "whether its GPUs compute can't be determined: NVML did not answer: the deadline passed");
  stub->hang_fd = -1;
  ASSERT_EQ(::write(ends[1], "x", 1), 1);
  // The abandoned thread ends with its NVML session.
  const Call patience = within(std::chrono::seconds(10));
  while (stub->open_sessions != 0 && !patience.must_end(std::chrono::steady_clock::now()))
    std::this_thread::yield();
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace lockstep
