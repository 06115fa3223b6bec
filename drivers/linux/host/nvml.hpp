// NVIDIA's GPUs as their own management library tells, loaded when it is asked: nothing here needs it to
// build or to start.
//
// The names, numbers and layouts are those of the NVML API Reference (docs.nvidia.com/deploy/nvml-api); only
// functions that every driver since 470 has are required, others are asked for and may be missing. Promises:
// a library that is not there, or lacks a required function, is `unsupported` with the loader's words; an
// answer later than the call's deadline is `transient`, and until the library has answered it is not asked
// again (a GPU that fell off the bus can hold a call for minutes); a GPU that is lost is listed with NVML's
// words. Refuses nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "drivers/posix/call.hpp"
#include "specs/model/result.hpp"

namespace lockstep {

struct NvmlGpu {
  std::string pci;  // "0000:1b:00.0", as sysfs writes it
  std::string name;
  std::string lost;  // why it can't be asked; empty: it answers
  std::string vbios;
  std::optional<bool> persistence;  // none: it has no such mode (so with ECC)
  std::optional<bool> ecc;
  std::optional<bool> ecc_after_reset;
  std::optional<std::uint64_t> clock_limits;  // nvmlDeviceGetCurrentClocksEventReasons
  std::optional<unsigned> compute_processes;  // of a CUDA context each; none: it does not say
  bool rows_failed = false;                   // row remapping failed (nvmlDeviceGetRemappedRows)
  bool reset_wanted = false;                  // a remapped row waits for a reset

  // What ails it, in words; empty: nothing.
  std::string trouble() const;
};

struct NvmlState {
  std::string driver;  // "550.54.15"
  std::vector<NvmlGpu> gpus;
};

class Nvml {
 public:
  // A file's name, looked for as dlopen(3) does; of a recorded machine (another root), under that.
  Nvml(const std::filesystem::path& root, const std::string& library);
  ~Nvml();

  // `unsupported`: the library is not here, with the reason. Loads it; asks nothing.
  Result<Done> load(const Call& call);
  Result<NvmlState> read(const Call& call);
  // On all GPUs that have such a mode; reads back. ECC: after the next reset.
  Result<Done> set_persistence(bool on, const Call& call);
  Result<Done> set_ecc(bool on, const Call& call);

 private:
  class Library;
  struct Lane;

  template <class T>
  Result<T> ask(Result<T> (*question)(Library&, bool), bool argument, bool changes, const Call& call);

  std::shared_ptr<Lane> lane_;
};

}  // namespace lockstep
