// Changes and runs of the cluster's store as objects.
//
// Promises: read-only, by a connection of its own for each call, on any thread. Newest first. A store that
// was never written has none. Refuses: a store that can't be read.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reconciler/api/api_object.hpp"
#include "reconciler/api/objects.hpp"
#include "reconciler/api/selectors.hpp"
#include "reconciler/api/spec_looks.hpp"

namespace lockstep::api {

struct StoredPlace {
  std::string directory{};  // empty: not known yet, so there is nothing
  std::string cluster{};
  bool twin = false;
};

struct StoredPage {
  std::vector<ApiObject> objects;
  std::optional<std::uint64_t> more;  // the number before which to go on
};
// Of those that are selected, at most `most`, of numbers below `before`.
Result<StoredPage> stored_page(const StoredPlace& place, Kind kind, const Selector& selector,
                               std::size_t most, std::optional<std::uint64_t> before);
// The last run that measured each suite, among the newest `most`; what was measured before a change is none.
Result<std::map<std::string, SuiteRun>> suite_runs(const StoredPlace& place, std::size_t most);
// With all that it wrote or measured. None: no such number.
Result<std::optional<ApiObject>> stored_object(const StoredPlace& place, Kind kind, const std::string& name);

}  // namespace lockstep::api
