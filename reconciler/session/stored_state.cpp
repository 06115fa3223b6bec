#include "reconciler/session/stored_state.hpp"

namespace lockstep {

Result<StoredState> stored_state(const std::string& directory) {
  constexpr std::size_t kShown = 10;  // a choice: changes that fill half a screen
  StoredState out;
  TRY(out.file, describe(directory));
  TRY(const std::unique_ptr<Store> store, open_store(directory));
  out.leader = store->leadership().holder();
  TRY(out.totals, store->history().totals());
  TRY(out.newest, store->history().changes(kShown));
  TRY(const std::vector<InFlight> in_flight, store->history().in_flight());
  for (const InFlight& one : in_flight) out.in_flight.push_back(one.change);
  TRY(out.owed, store->history().owed());
  TRY(out.blobs, store->blobs().list());
  return out;
}

}  // namespace lockstep
