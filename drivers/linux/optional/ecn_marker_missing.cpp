#include "drivers/linux/ecn_marker.hpp"

namespace lockstep {

Result<Descriptor> load_ecn_marker(std::uint64_t) {
  return Error{ErrorKind::unsupported, "ECN marker: this lockstep was built without clang or libbpf"};
}

}  // namespace lockstep
