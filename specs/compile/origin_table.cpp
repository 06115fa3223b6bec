#include "specs/compile/origin_table.hpp"

#include <algorithm>

namespace lockstep {

OriginTable::OriginTable(const Catalog& catalog) {
  if (!catalog.clusters.empty()) cluster_ = &catalog.clusters.front();
}

ClaimantId OriginTable::add_claimant(std::string_view kind, const Object& object) {
  Claimant claimant{.name = std::string(kind) + "/" + *object.metadata.name,
                    .priority = *object.priority,
                    .restore_on_delete = *object.on_delete == OnDelete::restore,
                    .at = object.metadata.name.said ? object.metadata.name.at : object.at};
  Mode mode = Mode::observe;
  if (object.mode.said)
    mode = *object.mode;
  else if (cluster_ != nullptr && cluster_->mode.said)
    mode = *cluster_->mode;
  claimant.conduct = mode == Mode::converge ? Conduct::converge : Conduct::observe;
  if (*object.suspend || (cluster_ != nullptr && *cluster_->suspend)) claimant.conduct = Conduct::suspended;
  claimant.apply_allowed = !*object.suspend && !(object.mode.said && *object.mode == Mode::observe);
  claimants_.push_back(std::move(claimant));
  return static_cast<ClaimantId>(claimants_.size() - 1);
}

const Claimant& OriginTable::claimant_named(std::string_view name) const {
  return *std::find_if(claimants_.begin(), claimants_.end(),
                       [name](const Claimant& one) { return one.name == name; });
}

OriginId OriginTable::add(ClaimantId claimant, Position at, std::string_view rule) {
  const auto [known, fresh] = known_.try_emplace({claimant, at, std::string(rule)}, 0);
  if (!fresh) return known->second;
  const Claimant& who = claimants_[claimant];
  known->second = origins_.add(Origin{.at = at,
                                      .object = who.name,
                                      .rule = std::string(rule),
                                      .conduct = who.conduct,
                                      .apply_allowed = who.apply_allowed,
                                      .restore_on_delete = who.restore_on_delete});
  of_origin_.push_back(claimant);
  return known->second;
}

}  // namespace lockstep
