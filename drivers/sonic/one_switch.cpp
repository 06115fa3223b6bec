#include "drivers/sonic/one_switch.hpp"

#include <utility>

#include "specs/model/fnv.hpp"

namespace lockstep::sonic {

Result<OneSwitch::Alone> OneSwitch::alone(const Call& call) {
  Alone lock(mutex_, call.deadline);
  if (!lock) return Error{ErrorKind::transient, device_ + ": another call to it has not ended"};
  return lock;
}

Result<Done> OneSwitch::check(const Guard& guard) const {
  if (guard.undo_after)
    return Error{ErrorKind::unsupported, device_ + ": SONiC has no timer that could undo a change"};
  if (guard.epoch < epoch_)
    return Error{ErrorKind::denied, device_ + ": epoch " + std::to_string(guard.epoch) + " is older than " +
                                        std::to_string(epoch_)};
  return Done{};
}

Error OneSwitch::changed(std::string_view when) const {
  return {ErrorKind::conflict, device_ + ": CONFIG_DB has changed " + std::string(when)};
}

Result<Done> OneSwitch::settle(Settlement settlement) const {
  if (settlement == Settlement::undo)
    return Error{ErrorKind::unsupported, device_ + ": SONiC can't roll back by itself"};
  return Done{};
}

Result<Done> OneSwitch::load_models() {
  if (folder_.empty() || models_) return Done{};
  TRY(models_, YangModels::load(folder_));
  return Done{};
}

std::string revision_text(std::string_view config, std::string_view effects) {
  return Fnv().add(config).text() + "." + Fnv().add(effects).text();
}
std::string_view config_part(std::string_view revision) { return revision.substr(0, revision.find('.')); }

}  // namespace lockstep::sonic
