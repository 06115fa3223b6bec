// NVIDIA GPUs through their management library, loaded on first use: neither building nor starting lockstep
// requires it.
//
// The names, numbers and layouts are those of the NVML API Reference (docs.nvidia.com/deploy/nvml-api); only
// functions present in every driver since 470 are required, others may be missing. Promises: a missing
// library, or one that lacks a required function, is `unsupported` with the loader's message; an answer later
// than the call's deadline is `transient`, and the library is not called again until it has returned (a GPU
// that fell off the bus can block a call for minutes); a GPU that is lost is listed with NVML's message.
// Refuses nothing.
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
  std::string lost;  // why it can't be queried; empty: it answers
  std::string vbios;
  std::optional<bool> persistence;  // none: it has no such mode (likewise ECC)
  std::optional<bool> ecc;
  std::optional<bool> ecc_after_reset;
  std::optional<std::uint64_t> clock_limits;  // nvmlDeviceGetCurrentClocksEventReasons
  std::optional<unsigned> compute_processes;  // each with a CUDA context; none: not reported
  bool rows_failed = false;                   // row remapping failed (nvmlDeviceGetRemappedRows)
  bool reset_wanted = false;                  // a row remapping is pending until a reset

  // The GPU's faults, as text; empty: none.
  std::string trouble() const;
};

struct NvmlState {
  std::string driver;  // "550.54.15"
  std::vector<NvmlGpu> gpus;
};

class Nvml {
 public:
  // A file name, looked up as dlopen(3) does; for a recorded machine (another root), below that.
  Nvml(const std::filesystem::path& root, const std::string& library);
  ~Nvml();

  // `unsupported`: the library is not available, with the reason. Loads it; queries nothing.
  Result<Done> load(const Call& call);
  Result<NvmlState> read(const Call& call);
  // On all GPUs that have such a mode; reads back. ECC: takes effect at the next reset.
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
