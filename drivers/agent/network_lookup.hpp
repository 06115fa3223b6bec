// NameLookup: the addresses of host names for a single-threaded io_context. Part of network.cpp.
//
// Contract: getaddrinfo(3) may block for half a minute and can't be ended, so it runs on up to kThreads
// threads of its own: a name whose servers are silent delays neither other names nor the end of the program.
// Threads inherit the network namespace of the I/O thread, which is where find() is called.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "specs/model/result.hpp"

namespace lockstep {

using TcpEndpoints = std::vector<boost::asio::ip::tcp::endpoint>;

class NameLookup {
 public:
  using Found = std::function<void(Result<TcpEndpoints>)>;
  explicit NameLookup(boost::asio::io_context& io);
  ~NameLookup();
  NameLookup(const NameLookup&) = delete;
  NameLookup& operator=(const NameLookup&) = delete;

  // Calls `found` on the I/O thread, once, and never from inside find(). An address needs no thread.
  void find(const std::string& host, std::uint16_t port, Found found);

 private:
  struct State;
  struct Job;
  static void look_up(const std::shared_ptr<State>& state);
  static void answer(State& state, const Job& job, Result<TcpEndpoints> result);
  void take(std::uint64_t id, Result<TcpEndpoints> result);

  boost::asio::io_context& io_;
  std::shared_ptr<State> state_;
  std::map<std::uint64_t, Found> waiting_;
  std::uint64_t last_ = 0;
};

}  // namespace lockstep
