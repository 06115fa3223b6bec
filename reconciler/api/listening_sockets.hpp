// The sockets on which the API listens: those of ServerSettings::listen, made here, and those that systemd
// made before (socket activation, sd_listen_fds(3)).
//
// Promises: given ones are served as well; an address of `listen` that one of them has is not bound again.
// They stay their giver's: what is returned are copies, and their files are not removed. Refused, each with
// what to do: a given one that is no listening stream socket of TCP or UNIX; TCP without TLS that is not
// loopback; a UNIX socket of `listen` in a folder that others may enter (given ones may be anywhere: whoever
// comes says who he is); an address in use (transient).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "reconciler/api/listen_address.hpp"
#include "specs/files/descriptor.hpp"
#include "specs/model/result.hpp"

namespace lockstep::api {

struct GivenSocket {
  int descriptor = -1;
  std::string name;  // FileDescriptorName= of the socket's unit
};

// The file of a UNIX socket that was made here: removed with its object.
class SocketFile {
 public:
  explicit SocketFile(std::string path) : path_(std::move(path)) {}
  SocketFile(SocketFile&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  SocketFile& operator=(SocketFile&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  ~SocketFile();

 private:
  std::string path_;
};

struct ListeningSocket {
  Descriptor descriptor;
  ListenAddress where;  // with the real port
};

struct ListeningSockets {
  std::vector<ListeningSocket> all;
  std::vector<SocketFile> files;
  std::vector<std::uint16_t> ports;  // of each of `listen`; 0 for a UNIX socket
};

// `tls`: TCP is TLS.
Result<ListeningSockets> open_sockets(const std::vector<std::string>& listen,
                                      const std::vector<GivenSocket>& given, bool tls);

}  // namespace lockstep::api
