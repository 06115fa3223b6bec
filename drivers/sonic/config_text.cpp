#include "drivers/sonic/config_text.hpp"

#include "drivers/sonic/map.hpp"

namespace lockstep {

Result<std::string> sonic_config_of(const std::string& device, const ChangeSet& changes) {
  const sonic::Edited made = sonic::edited(sonic::bare_config(changes), changes);
  for (const auto& error : made.outcomes)
    if (error) return wrap(device, *error);
  return sonic::config_db_json(made.config);
}

}  // namespace lockstep
