// ServiceApi: the whole API of a running service, as one object: its desk, its objects and their log, and the
// server.
//
// Promises: as its parts (service_desk.hpp, object_feed.hpp, server.hpp). Created and destroyed on the
// engine's thread, and destroyed before the loop. Until it is, the executor must go on for actions to be
// answered; an action that waits when it is destroyed is withdrawn.
#pragma once

#include <memory>

#include "reconciler/api/server.hpp"

namespace lockstep::api {

// Two bursts of as many devices as a service is made for (4,096), and what happens between two bookmarks.
inline constexpr std::size_t kLogKept = 16'384;

class ServiceApi {
 public:
  static Result<std::unique_ptr<ServiceApi>> start(ServerSettings settings, FeedSettings feed,
                                                   Executor& executor, ServiceLoop& loop);

  // For ServiceSeams::event. Any thread.
  void happened(const ServiceEvent& event) { feed_.happened(event); }
  const ApiServer& server() const { return *server_; }

 private:
  ServiceApi(std::unique_ptr<ServiceDesk> desk, std::string epoch, FeedSettings feed)
      : desk_(std::move(desk)), log_(std::move(epoch), kLogKept), feed_(*desk_, log_, std::move(feed)) {}

  std::unique_ptr<ServiceDesk> desk_;
  EventLog log_;
  ObjectFeed feed_;
  std::unique_ptr<ApiServer> server_;
};

}  // namespace lockstep::api
