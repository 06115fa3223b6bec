#include "specs/compile/override_checks.hpp"

#include <algorithm>
#include <string>

#include "specs/fabric/buffer_use.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

constexpr RowId kShare = row("interface[*]/class[*]/share");
constexpr RowId kEcnMin = row("interface[*]/class[*]/ecn-min");
constexpr RowId kEcnMax = row("interface[*]/class[*]/ecn-max");
constexpr RowId kSize = row("interface[*]/buffer[*]/size");
constexpr RowId kXoff = row("interface[*]/buffer[*]/xoff");
constexpr RowId kMtu = row("interface[*]/mtu");
constexpr RowId kPfc = row("interface[*]/pfc");
constexpr RowId kPriority = row("interface[*]/class[*]/priority");
constexpr std::int64_t kWhole = 1000;  // per mille

std::uint64_t number(Value value) {
  return value.kind() == Value::Kind::integer ? static_cast<std::uint64_t>(value.as_integer()) : 0;
}

class OverrideChecks {
 public:
  OverrideChecks(const Compilation& compilation, DeviceIndex device, const Intent& intent)
      : c_(compilation), device_(device), intent_(intent) {}

  void check(const OverriddenEntry& one) const {
    const std::uint64_t now = number(intent_.want.value(one.path));
    const std::uint64_t was = number(replaced(one));
    const RowId row = one.path.row();
    if (row == kShare) check_shares(one);
    if ((row == kSize || row == kXoff) && now < was)
      error("LS102", one,
            one.path.text() + " of " + intent_.device + " is " + about(now) +
                " by this override, and its links need " + about(was),
            "leave it out, or write less cableLength or smallPackets");
    if (row == kMtu && was != 0 && now > was && is_lossless(one.path.key(0)))
      warn("LS102", one,
           "PFC headroom of " + intent_.device + ":" + std::string(one.path.key(0)) +
               " is computed for the fabric's MTU, and this override allows larger frames",
           "raise the fabric's mtu if anybody sends them");
    if (!c_.twin && (row == kEcnMin || row == kEcnMax)) check_ecn(one, now, was);
  }

 private:
  void error(std::string_view code, const OverriddenEntry& one, std::string message, std::string hint) const {
    c_.report(code, c_.origins.origins()[one.origin].at, std::move(message), std::move(hint));
  }
  void warn(std::string_view code, const OverriddenEntry& one, std::string message, std::string hint) const {
    c_.warn(code, c_.origins.origins()[one.origin].at, std::move(message), std::move(hint));
  }

  // The value from the objects; none if they set none, or the same.
  Value replaced(const OverriddenEntry& one) const {
    const auto found = std::ranges::find_if(intent_.overruled, [&one](const Overruled& other) {
      return other.path == one.path && other.by == one.origin;
    });
    return found == intent_.overruled.end() ? Value{} : found->want;
  }

  bool is_lossless(std::string_view port) const {
    return !intent_.want.value(Path(kPfc, {port})).as_list().empty();
  }

  void check_shares(const OverriddenEntry& one) const {
    std::int64_t sum = 0;
    for (const Entry& entry : intent_.want.of_row(kShare))
      if (entry.path.key(0) == one.path.key(0)) sum += entry.value.as_integer();
    if (sum <= kWhole) return;
    const auto parts = static_cast<std::uint32_t>(sum * 1000);
    error("LS114", one,
          "with this override the bandwidth shares of " + intent_.device + ":" +
              std::string(one.path.key(0)) + " sum to " + format(Ratio{parts}),
          "shares are of what strict classes leave: at most 100%");
  }

  bool is_of_lossless_class(Path path) const {
    const Value lossless = intent_.want.value(Path(kPfc, {path.key(0)}));
    const Value of_class = intent_.want.value(Path(kPriority, {path.key(0), path.key(1)}));
    if (lossless.kind() != Value::Kind::list || of_class.kind() != Value::Kind::list) return false;
    const auto all = lossless.as_list();
    return std::ranges::any_of(of_class.as_list(), [&all](std::string_view priority) {
      return std::ranges::find(all, priority) != all.end();
    });
  }

  void check_ecn(const OverriddenEntry& one, std::uint64_t now, std::uint64_t was) const {
    const TopologyDevice& device = c_.topology.devices[device_];
    const Result<const Platform*> platform = find_platform(c_.catalog, device.platform);
    if (!platform || !device.is_switch() || !is_of_lossless_class(one.path)) return;
    const Result<BufferUse> use = buffer_use(c_.catalog, c_.topology, device_, **platform);
    if (!use || !use->fires) return;
    const std::string begins =
        one.path.text() + " of " + intent_.device + " is " + about(now) + " by this override, and PFC ";
    const std::string hint = "lower it, or leave it out";
    if (one.path.row() == kEcnMin && now >= use->fires->lone())
      return error("LS103", one,
                   begins + "fires even in the best case when a queue holds " + about(use->fires->lone()) +
                       " (" + terms_of(*use->fires) + ")",
                   hint);
    const std::uint64_t bound = one.path.row() == kEcnMin ? use->fires->bound() : use->fires->even();
    if (now > bound && now > was)
      warn(
          "LS103", one,
          begins + "can fire already when a queue holds " + about(bound) + " (" + terms_of(*use->fires) + ")",
          hint);
  }

  const Compilation& c_;
  DeviceIndex device_;
  const Intent& intent_;
};

}  // namespace

void check_overrides(const Compilation& compilation, DeviceIndex device, const Intent& intent,
                     const std::vector<OverriddenEntry>& overridden) {
  const OverrideChecks checks(compilation, device, intent);
  for (const OverriddenEntry& one : overridden) {
    const Entry* const entry = intent.want.find(one.path);
    if (entry != nullptr && entry->origin == one.origin) checks.check(one);  // otherwise another override won
  }
}

}  // namespace lockstep
