#include "drivers/agent/network_lookup.hpp"

#include <netdb.h>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstring>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace lockstep {
namespace {

constexpr std::size_t kLookupThreads = 8;

Result<TcpEndpoints> addresses_of(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int code = ::getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (code != 0)
    return Error{ErrorKind::transient,
                 "host name " + host + " can't be resolved: " +
                     (code == EAI_SYSTEM ? std::strerror(errno) : ::gai_strerror(code))};
  TcpEndpoints out;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    boost::asio::ip::tcp::endpoint endpoint;
    if (one->ai_addrlen > endpoint.capacity()) continue;
    std::memcpy(endpoint.data(), one->ai_addr, one->ai_addrlen);
    endpoint.resize(one->ai_addrlen);
    endpoint.port(port);
    out.push_back(endpoint);
  }
  ::freeaddrinfo(found);
  if (out.empty()) return Error{ErrorKind::transient, "host name " + host + " has no address"};
  return out;
}

}  // namespace

struct NameLookup::Job {
  std::uint64_t id;
  std::string host;
  std::uint16_t port;
};

// Shared with threads that may outlive the lookup.
struct NameLookup::State {
  std::mutex mutex;
  NameLookup* owner = nullptr;  // null: it is gone
  std::deque<Job> jobs;
  std::size_t threads = 0;
};

NameLookup::NameLookup(boost::asio::io_context& io) : io_(io), state_(std::make_shared<State>()) {
  state_->owner = this;
}

NameLookup::~NameLookup() {
  const std::lock_guard lock(state_->mutex);
  state_->owner = nullptr;
  state_->jobs.clear();
}

void NameLookup::find(const std::string& host, std::uint16_t port, Found found) {
  const std::uint64_t id = ++last_;
  waiting_.emplace(id, std::move(found));
  boost::system::error_code code;
  const auto address = boost::asio::ip::make_address(host, code);
  if (!code)
    return boost::asio::post(io_, [this, id, address, port] { take(id, TcpEndpoints{{address, port}}); });
  const std::lock_guard lock(state_->mutex);
  state_->jobs.push_back({id, host, port});
  if (state_->threads >= kLookupThreads) return;
  try {
    std::thread([state = state_] { look_up(state); }).detach();
    ++state_->threads;
  } catch (const std::system_error& none) {
    if (state_->threads > 0) return;  // one of these takes it
    state_->jobs.pop_back();
    const Error failed{ErrorKind::transient, std::string("no thread to resolve a host name: ") + none.what()};
    boost::asio::post(io_, [this, id, failed] { take(id, failed); });
  }
}

// The body of a thread, which ends when no lookup is left.
void NameLookup::look_up(const std::shared_ptr<State>& state) {
  std::unique_lock lock(state->mutex);
  while (!state->jobs.empty()) {
    const Job job = std::move(state->jobs.front());
    state->jobs.pop_front();
    lock.unlock();
    auto result = addresses_of(job.host, job.port);
    lock.lock();
    answer(*state, job, std::move(result));
  }
  --state->threads;
}

void NameLookup::answer(State& state, const Job& job, Result<TcpEndpoints> result) {
  if (state.owner == nullptr) return;
  boost::asio::post(state.owner->io_,
                    [owner = state.owner, id = job.id, result = std::move(result)]() mutable {
                      owner->take(id, std::move(result));
                    });
}

void NameLookup::take(std::uint64_t id, Result<TcpEndpoints> result) {
  auto found = waiting_.extract(id);
  if (!found.empty()) found.mapped()(std::move(result));
}

}  // namespace lockstep
