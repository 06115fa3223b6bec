#include "reconciler/api/service_api.hpp"

#include "drivers/posix/random_uuid.hpp"

namespace lockstep::api {

Result<std::unique_ptr<ServiceApi>> ServiceApi::start(ServerSettings settings, FeedSettings feed,
                                                      Executor& executor, ServiceLoop& loop) {
  TRY(std::unique_ptr<ServiceDesk> desk, open_desk(executor, loop));
  TRY(std::string epoch, random_uuid("the API's positions"));
  auto out = std::unique_ptr<ServiceApi>(new ServiceApi(std::move(desk), std::move(epoch), std::move(feed)));
  TRY_DONE(out->feed_.start());
  TRY(out->server_, ApiServer::start(std::move(settings), *out->desk_, out->feed_, out->log_));
  return out;
}

}  // namespace lockstep::api
