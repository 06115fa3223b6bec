// The parser that LOCKSTEP_FUZZED names, under libFuzzer (llvm.org/docs/LibFuzzer.html).
#include <cstdint>
#include <cstdlib>

#include "tests/fuzz/parsers.hpp"

namespace {

const lockstep::fuzzing::Parser& chosen() {
  const char* const name = std::getenv("LOCKSTEP_FUZZED");
  for (const lockstep::fuzzing::Parser& one : lockstep::fuzzing::parsers())
    if (name != nullptr && one.name == name) return one;
  lockstep::fuzzing::must(false, "LOCKSTEP_FUZZED names a parser");
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const lockstep::fuzzing::Parser& parser = chosen();
  parser.parse({reinterpret_cast<const char*>(data), size});
  return 0;
}
