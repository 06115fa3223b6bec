// The stub of NVML (host_nvml_stub.c), loaded and set to two healthy GPUs.
#pragma once

#include <dlfcn.h>

#include "tests/unit/linux/host_nvml_stub.h"

namespace lockstep {

// Null if the library is missing (the test program was copied elsewhere).
inline nvml_stub* load_nvml_stub(const char* library) {
  void* const loaded = ::dlopen(library, RTLD_NOW);
  auto* const stub = loaded == nullptr ? nullptr : static_cast<nvml_stub*>(::dlsym(loaded, "nvml_stub"));
  if (stub == nullptr) return nullptr;
  *stub = nvml_stub{};
  stub->count = 2;
  stub->hang_fd = -1;
  for (nvml_stub_gpu& one : stub->gpus) one.persistence = one.ecc = one.ecc_pending = 1;
  return stub;
}

}  // namespace lockstep
