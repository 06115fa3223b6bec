#include "drivers/sonic/port_buffers.hpp"

#include "drivers/sonic/port_rows.hpp"
#include "drivers/sonic/shared_rows.hpp"
#include "drivers/sonic/state_check.hpp"

namespace lockstep::sonic {
namespace {

constexpr std::string_view kComputedInApplDb = "NULL";
constexpr std::string_view kMadeProfiles = "pg_lossless_";  // cfgmgr/buffermgr.cpp (sonic-swss e6b0c5b5)
bool is_computed(std::string_view profile) {
  return profile == kComputedInApplDb || profile.starts_with(kMadeProfiles);
}

BufferSettings settings_of(const ConfigRow& profile) {
  return {.size = number_in(&profile, "size"),
          .xoff = number_in(&profile, "xoff"),
          .xon = number_in(&profile, "xon"),
          .xon_offset = number_in(&profile, "xon_offset"),
          .dynamic_threshold = number_in(&profile, "dynamic_th")};
}
bool is_lossless(const ConfigRow* profile) { return profile != nullptr && profile->contains("xoff"); }

Error is_buffermgrds(int priority) {
  return {ErrorKind::unsupported, "buffermgrd computes the buffer of priority " + std::to_string(priority)};
}

// That of the profile now, or the one that lossless traffic comes in through.
Result<std::string> pool_for(const ConfigDb& config, const std::string* profile) {
  if (profile != nullptr)
    if (const std::string* const pool = text_in(config.find("BUFFER_PROFILE", *profile), "pool"))
      return *pool;
  if (config.find("BUFFER_POOL", "ingress_lossless_pool") != nullptr)
    return std::string("ingress_lossless_pool");
  return Error{ErrorKind::refused,
               "there is no ingress_lossless_pool in BUFFER_POOL for a lossless priority"};
}

Error lacks_size() {
  return {ErrorKind::invalid_spec, "BUFFER_PROFILE needs size and xoff of a lossless priority"};
}

// The name of a profile with what is wanted, in place of the one that `key` names.
Result<std::string> profile_for(ConfigDb& config, const std::string& key, const BufferSettings& was,
                                const BufferSettings& want) {
  const std::string* const named = text_in(config.find("BUFFER_PG", key), "profile");
  if (!want.size || !want.xoff) return lacks_size();
  TRY(const std::string pool, pool_for(config, named));
  ConfigRow row = copy_of(config, "BUFFER_PROFILE", named);
  row["pool"] = pool;
  const auto put = [&row](const char* field, const std::optional<std::int64_t>& before,
                          const std::optional<std::int64_t>& now) {
    if (now)
      row[field] = std::to_string(*now);
    else if (before)
      row.erase(field);
  };
  put("size", was.size, want.size);
  put("xoff", was.xoff, want.xoff);
  put("xon", was.xon, want.xon);
  put("xon_offset", was.xon_offset, want.xon_offset);
  put("dynamic_th", was.dynamic_threshold, want.dynamic_threshold);
  if (!row.contains("static_th") && !row.contains("dynamic_th")) row["dynamic_th"] = "0";
  const std::string about = "lossless-" + std::to_string(*want.size);
  return shared_row(config, "BUFFER_PROFILE", about, row, named);
}

std::string group_key(const ConfigDb& config, const std::string& port, int priority) {
  return port + "|" + std::to_string(at_or_same(groups_of(config, port), priority));
}

Result<Done> put_sized(ConfigDb& config, const std::string& port, const PortBuffers& was,
                       const PortBuffers& want) {
  for (int priority = 0; priority < kQueues; ++priority) {
    const auto before = was.sized.find(priority);
    const auto now = want.sized.find(priority);
    const bool had = before != was.sized.end();
    const bool has = now != want.sized.end();
    if (had == has && (!has || before->second == now->second)) continue;
    if (was.computed.contains(priority)) return is_buffermgrds(priority);
    split_ranges(config, "BUFFER_PG", port);
    const std::string key = group_key(config, port, priority);
    if (has) {
      TRY(const std::string name,
          profile_for(config, key, had ? before->second : BufferSettings(), now->second));
      set_field(config, "BUFFER_PG", key, "profile", name);
    } else {
      make_move({"BUFFER_PG", key, std::nullopt}, config);
    }
  }
  return Done{};
}

// Of the dynamic model. A profile with numbers is as good as NULL.
void reserve(ConfigDb& config, const std::string& port, int group, bool wanted) {
  const auto rows = rows_of_port(config, "BUFFER_PG", port);
  const auto row = rows.find(group);
  const std::string* const name = row == rows.end() ? nullptr : text_in(row->second, "profile");
  const bool computed = name != nullptr && is_computed(*name);
  const bool sized = name != nullptr && is_lossless(config.find("BUFFER_PROFILE", *name));
  if (wanted ? computed || sized : !computed) return;
  split_ranges(config, "BUFFER_PG", port);
  const std::string key = port + "|" + std::to_string(group);
  if (wanted)
    set_field(config, "BUFFER_PG", key, "profile", std::string(kComputedInApplDb));
  else
    make_move({"BUFFER_PG", key, std::nullopt}, config);
}

// Those that are to be there, or not, whatever their size. What has a size has come and gone with it.
Result<Done> put_reserved(ConfigDb& config, const std::string& port, const PortBuffers& was,
                          const PortBuffers& want, const NumberMap& groups_before) {
  for (int priority = 0; priority < kQueues; ++priority) {
    const bool had = was.reserved.contains(priority);
    const bool has = want.reserved.contains(priority);
    const bool was_sized = was.sized.contains(priority);
    if (want.sized.contains(priority) || (had == has && !was_sized)) continue;
    if (has_dynamic_buffers(config))
      reserve(config, port, at_or_same(has ? groups_of(config, port) : groups_before, priority), has);
    else if (!was_sized)
      return has ? lacks_size() : is_buffermgrds(priority);
  }
  return Done{};
}

}  // namespace

bool has_dynamic_buffers(const ConfigDb& config) {
  const std::string* const model = text_in(config.find("DEVICE_METADATA", "localhost"), "buffer_model");
  return model != nullptr && *model == "dynamic";
}

ConfigDb without_computed(ConfigDb config) {
  if (const auto groups = config.tables.find("BUFFER_PG"); groups != config.tables.end())
    std::erase_if(groups->second, [](const auto& row) {
      const std::string* const profile = text_in(&row.second, "profile");
      return profile != nullptr && profile->starts_with(kMadeProfiles);
    });
  if (const auto profiles = config.tables.find("BUFFER_PROFILE"); profiles != config.tables.end())
    std::erase_if(profiles->second, [](const auto& row) { return row.first.starts_with(kMadeProfiles); });
  return config;
}

PortBuffers buffers_of(const ConfigDb& config, const std::string& port) {
  PortBuffers out;
  const NumberMap groups = groups_of(config, port);
  const auto rows = rows_of_port(config, "BUFFER_PG", port);
  const bool dynamic = has_dynamic_buffers(config);
  for (int priority = 0; priority < kQueues; ++priority) {
    const auto group = rows.find(at_or_same(groups, priority));
    const std::string* const name = group == rows.end() ? nullptr : text_in(group->second, "profile");
    const ConfigRow* const profile = name == nullptr ? nullptr : config.find("BUFFER_PROFILE", *name);
    const bool computed = name != nullptr && is_computed(*name);
    if (computed || (dynamic && !is_lossless(profile))) out.computed.insert(priority);
    if (!groups.empty() && !groups.contains(priority)) continue;
    if (computed || is_lossless(profile)) out.reserved.insert(priority);
    if (is_lossless(profile)) out.sized[priority] = settings_of(*profile);
  }
  return out;
}

std::map<int, BufferSettings> computed_buffers(const ConfigDb& config, const std::string& port,
                                               const std::map<int, ConfigRow>& groups) {
  const PortBuffers buffers = buffers_of(config, port);
  const NumberMap map = groups_of(config, port);
  std::map<int, BufferSettings> out;
  for (const int priority : buffers.reserved) {
    const auto profile = groups.find(at_or_same(map, priority));
    if (!buffers.sized.contains(priority) && profile != groups.end() && is_lossless(&profile->second))
      out[priority] = settings_of(profile->second);
  }
  return out;
}

Result<Done> put_buffers(ConfigDb& config, const std::string& port, const PortBuffers& was,
                         const PortBuffers& want, const std::map<int, int>& groups_before) {
  TRY_DONE(put_sized(config, port, was, want));
  return put_reserved(config, port, was, want, groups_before);
}

}  // namespace lockstep::sonic
