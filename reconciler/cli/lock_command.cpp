#include <nlohmann/json.hpp>

#include "reconciler/cli/command_session.hpp"
#include "reconciler/cli/commands.hpp"
#include "reconciler/report/lock_report.hpp"
#include "reconciler/session/identity.hpp"

namespace lockstep {

int run_lock(const ClusterSource& source, const Console& console) {
  std::optional<OpenedCluster> opened = open_cluster(source, console);
  if (!opened) return kExitError;
  if (Result<Done> any = has_devices(*opened); !any) return console.fail(any.error());
  const LockChange change = lock_change(*opened);
  if (Result<Done> named = settle_identity(*opened, "lockstep lock", std::chrono::system_clock::now());
      !named)
    return console.fail(named.error());
  if (Result<Done> written = write_numbers(*opened); !written) return console.fail(written.error());
  if (console.is_text())
    console.print(lock_text(change));
  else
    console.print_document(of_cluster(*opened, lock_json(change)));
  return kExitInSync;
}

}  // namespace lockstep
