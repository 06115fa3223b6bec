// ProposalTurns: how many requests to plan specs may be read or wait at a time: one of each client, and few
// in all, as each holds its specs in memory.
//
// Promises: a turn ends with the last owner of what take() returned, whichever thread that is.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>

namespace lockstep::api {

class ProposalTurns {
 public:
  explicit ProposalTurns(std::size_t most) : taken_(std::make_shared<Taken>(most)) {}

  // Null: this client has one, or all are taken.
  std::shared_ptr<const void> take(const std::string& client) {
    const std::scoped_lock lock(taken_->mutex);
    if (taken_->clients.size() >= taken_->most || !taken_->clients.insert(client).second) return nullptr;
    return {taken_.get(), [taken = taken_, client](const void*) {
              const std::scoped_lock giving_back(taken->mutex);
              taken->clients.erase(client);
            }};
  }

 private:
  struct Taken {
    explicit Taken(std::size_t of) : most(of) {}
    const std::size_t most;
    std::mutex mutex;
    std::set<std::string> clients;  // under mutex
  };
  std::shared_ptr<Taken> taken_;
};

}  // namespace lockstep::api
