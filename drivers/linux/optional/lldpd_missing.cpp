#include "drivers/linux/lldp.hpp"

namespace lockstep {

Result<std::map<std::string, LldpNeighbour>> ask_lldpd(const std::string&, const Call&) {
  return Error{ErrorKind::unsupported, "lldpd: this lockstep was built without liblldpctl (liblldpctl-dev)"};
}

}  // namespace lockstep
