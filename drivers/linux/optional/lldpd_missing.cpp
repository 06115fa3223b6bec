#include "drivers/linux/lldp.hpp"

namespace lockstep {

LldpdAnswer read_lldpd(const std::string&, const Call&) {
  return {.why = Error{ErrorKind::unsupported,
                       "lldpd: this lockstep was built without liblldpctl (liblldpctl-dev)"}};
}

}  // namespace lockstep
