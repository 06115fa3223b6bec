#include "drivers/linux/apply_order.hpp"

#include <algorithm>
#include <numeric>

#include "specs/model/schema_rows.hpp"

namespace lockstep {

std::vector<std::size_t> apply_order(const ChangeSet& changes) {
  std::vector<std::size_t> out(changes.size());
  std::iota(out.begin(), out.end(), 0);
  std::ranges::stable_partition(out, [&](std::size_t at) {
    return schema_row(changes[at].path.row()).disruption == Disruption::reset;
  });
  return out;
}

}  // namespace lockstep
