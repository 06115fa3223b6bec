// One parser under libFuzzer (llvm.org/docs/LibFuzzer.html).
#include <cstdint>

#include "tests/fuzz/parsers.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  lockstep::fuzzing::LOCKSTEP_FUZZED({reinterpret_cast<const char*>(data), size});
  return 0;
}
