// A client of the API made of a blocking socket and OpenSSL alone, which reads HTTP by itself: what it sees
// is not what the server's own library would make of it.
#pragma once

#include <openssl/ssl.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "drivers/agent/tls.hpp"
#include "specs/files/descriptor.hpp"

namespace lockstep::api {

// Polls until it holds, for 20 seconds at most.
bool soon_holds(const std::function<bool()>& holds);

struct Reply {
  int status = 0;  // 0: none came
  std::map<std::string, std::string> headers{};
  std::string body{};
};

class ApiClient {
 public:
  // Plain, to this port of loopback.
  explicit ApiClient(std::uint16_t port, int receive_buffer = 0);
  // To a UNIX socket.
  explicit ApiClient(const std::string& path);
  // By TLS; without `files.certificate`, anonymously.
  ApiClient(std::uint16_t port, const TlsFiles& files);
  // "Authorization: Bearer TOKEN" with each request of get() and post().
  ApiClient& as(const std::string& token);

  explicit operator bool() const { return connected_; }
  bool send(std::string_view bytes);
  Reply get(const std::string& target, const std::string& headers = "", const std::string& method = "GET");
  Reply post(const std::string& target, const std::string& body,
             const std::string& headers = "Content-Type: application/json\r\n");
  Reply reply(bool has_body = true);  // with a body by length or in chunks
  Reply head();                       // of a stream
  // Of a stream of events after head(): all until the text has this, or the stream ends.
  std::string events_until(std::string_view text);
  // Whether the other end ends the connection.
  bool is_ended();
  // Of the server's certificate, as DER; empty: there is no TLS.
  std::string certificate() const;
  int socket() const { return socket_.number(); }

 private:
  struct Free {
    void operator()(SSL* tls) const { SSL_free(tls); }
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  };
  bool read_more();
  std::string line();
  std::string take(std::size_t size);
  std::string chunk();

  Descriptor socket_;
  std::unique_ptr<SSL_CTX, Free> context_;
  std::unique_ptr<SSL, Free> tls_;
  bool connected_ = false;
  std::string read_;  // and not taken yet
  std::string authorization_;
};

}  // namespace lockstep::api
