// libyang as it is linked, for a program that has it anyway.
#include "drivers/sonic/yang_models.hpp"

namespace lockstep::sonic {

std::string why_no_libyang() { return {}; }

}  // namespace lockstep::sonic
