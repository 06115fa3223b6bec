#include "drivers/posix/random_uuid.hpp"

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "specs/model/uuid.hpp"

namespace lockstep {

Result<std::string> random_uuid(const std::string& whose) {
  std::array<std::uint8_t, 16> random{};
  // So few bytes are returned completely, and no signal interrupts the call (getrandom(2)).
  if (::getrandom(random.data(), random.size(), 0) == static_cast<ssize_t>(random.size()))
    return uuid_v4(random);
  return Error{ErrorKind::refused,
               "no random bytes for " + whose + ": getrandom: " + std::strerror(errno)};
}

}  // namespace lockstep
