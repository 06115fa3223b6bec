// Changes and runs of the cluster's store as objects.
//
// Promises: read-only, by a connection of its own for each call, on any thread. Newest first. A store that
// was never written has none. Refuses: a store that can't be read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reconciler/api/api_object.hpp"
#include "reconciler/api/objects.hpp"
#include "reconciler/api/selectors.hpp"

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
// With all that it wrote or measured. None: no such number.
Result<std::optional<ApiObject>> stored_object(const StoredPlace& place, Kind kind, const std::string& name);

}  // namespace lockstep::api
