// The errno of a system call on a file as an Error: "FILE: the reason". Promises: denied if permission is
// missing, else refused.
#pragma once

#include <cerrno>
#include <cstring>
#include <string>

#include "specs/model/result.hpp"

namespace lockstep {

inline Error file_error(const std::string& file, int code) {
  const bool denied = code == EACCES || code == EPERM || code == EROFS;
  return Error{denied ? ErrorKind::denied : ErrorKind::refused, file + ": " + std::strerror(code)};
}

}  // namespace lockstep
