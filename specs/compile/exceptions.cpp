#include "specs/compile/exceptions.hpp"

#include <algorithm>

#include "specs/compile/entry_fields.hpp"
#include "specs/compile/entry_keys.hpp"
#include "specs/compile/override_checks.hpp"
#include "specs/fabric/codes.hpp"
#include "specs/language/hostlist.hpp"
#include "specs/language/reporter.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

// Overrides and raw entries times their devices: ten for each of the maximum number of devices.
constexpr std::size_t kSettingsMax = 10 * kDevicesMax;

Error wrong(RowId id, std::string_view expected) {
  return Error{ErrorKind::invalid_spec,
               std::string(schema_row(id).pattern) + " takes " + std::string(expected)};
}

std::string text_of(const Literal& literal) {
  if (literal.shape != Literal::Shape::list && literal.shape != Literal::Shape::map) return literal.text;
  std::string out;
  for (const Literal& item : literal.items) out += (out.empty() ? "" : ",") + text_of(item);
  for (const auto& [key, value] : literal.fields)
    out += (out.empty() ? "" : ",") + *key + "=" + text_of(*value);
  return out;
}

// Empty: an override may set it.
std::string why_not_set(Path path) {
  if (schema_row(path.row()).facet == Facet::effect)
    return path.text() + " is an effect: it can be observed, not set";
  std::string why = why_no_entry(path);
  if (why.empty()) return why;
  if (path.key_count() > 0 && path.key(0).find('[') != std::string_view::npos)
    why = "write a key for each of " + std::string(path.key(0)) + ": ranges are not allowed here";
  return path.text() + " is no setting: " + why;
}

}  // namespace

Result<Value> value_of(RowId id, const Literal& literal) {
  using Shape = Literal::Shape;
  switch (schema_row(id).type) {
    case EntryType::present:
      if (literal.shape == Shape::boolean && literal.boolean) return Value::present();
      return wrong(id, "`true`: the member is there");
    case EntryType::boolean:
      if (literal.shape == Shape::boolean) return Value::boolean(literal.boolean);
      return wrong(id, "true or false");
    case EntryType::integer:
      if (literal.shape == Shape::integer) return Value::integer(literal.integer);
      return wrong(id, schema_row(id).unit.empty()
                           ? std::string("a whole number")
                           : "a whole number, in " + std::string(schema_row(id).unit));
    case EntryType::text:
      if (literal.shape != Shape::list && literal.shape != Shape::map && literal.shape != Shape::null)
        return Value::text(literal.text);
      return wrong(id, "a text");
    case EntryType::list: {
      if (literal.shape != Shape::list) return wrong(id, "a list");
      std::vector<std::string> items;
      for (const Literal& item : literal.items) items.push_back(text_of(item));
      return schema_row(id).is_set() ? Value::set(std::move(items)) : Value::list(items);
    }
    case EntryType::secret: return wrong(id, "a secret, which is never written in specs");
  }
  return wrong(id, "nothing");
}

Exceptions::Exceptions(Compilation& c, const std::vector<std::vector<DeviceIndex>>& covered) : c_(c) {
  read(c.device_sets, c.catalog.device_sets, covered);
  read(c.fabrics, c.catalog.fabrics, covered);
  read(c.roce_profiles, c.catalog.roce_profiles, covered);
  read(c.host_profiles, c.catalog.host_profiles, covered);
  for (const Fabric& fabric : c.catalog.fabrics)
    for (const AllowedState& one : fabric.allow) tell_ended(one);
  const auto higher = [&c](const Setting& a, const Setting& b) {
    return c.origins.claimant_of(a.origin).priority > c.origins.claimant_of(b.origin).priority;
  };
  for (Settings* const settings : {&overrides_, &raws_})
    for (auto& [device, all] : *settings) std::stable_sort(all.begin(), all.end(), higher);
}

template <class Kind>
void Exceptions::read(const std::vector<ClaimantId>& claimants, const std::vector<Kind>& objects,
                      const std::vector<std::vector<DeviceIndex>>& covered) {
  for (std::size_t i = 0; i < objects.size(); ++i) {
    for (const Override& one : objects[i].overrides) read_override(claimants[i], one);
    for (const Raw& one : objects[i].raw) read_raw(claimants[i], one, covered[claimants[i]]);
  }
}

void Exceptions::tell_ended(const AllowedState& said) {
  if (!c_.has_ended(said.until)) return;
  c_.warn(fabric_code::allowance_ended, said.until.at,
          "this exception ended on " + format(*said.until) + ": " + *said.reason,
          "what it names counts again: remove it, or give it a new date");
}

void Exceptions::read_override(ClaimantId who, const Override& said) {
  if (c_.has_ended(said.until)) {
    c_.warn(fabric_code::override_ended, said.until.at,
            "this override was to end on " + format(*said.until) + ": " + *said.reason,
            "it still holds: remove it, or give it a new date");
  }
  for (const auto& [key, literal] : said.set) {
    const Result<Path> path = Path::parse(*key);
    if (const std::string why = path ? why_not_set(*path) : path.error().what; !why.empty()) {
      c_.report(fabric_code::override_path, key.at, why, "name a setting as `lockstep explain` shows it");
      continue;
    }
    const std::optional<Value> value = overriding(*path, *literal);
    if (!value || !can_be_there(*path, said.names, key.at)) continue;
    const std::string why = "override until " + format(*said.until) + ": " + *said.reason;
    set(overrides_, {*path, *value, c_.origins.add(who, literal.at, why), {}}, said.names, nullptr);
  }
}

// Whether the devices' kernels can have an interface of the name in the path; reports it if one can't.
bool Exceptions::can_be_there(Path path, const Said<std::string>& names, Position at) {
  const Row& of = schema_row(path.row());
  const bool names_interface = of.is_of_port() || of.is_of_bond();
  if (!names_interface || is_kernel_name(path.key(0))) return true;
  const auto expanded = expand_hostlist(*names);
  const bool there = !expanded || std::none_of(expanded->begin(), expanded->end(), [this](const auto& name) {
    const DeviceIndex device = c_.topology.find_device(name);
    return device != kNone && is_linux(c_.catalog.device_sets[c_.topology.devices[device].set]);
  });
  if (!there)
    c_.report(fabric_code::override_path, at,
              in_quotes(path.key(0)) + " is no name that Linux can give an interface",
              std::string(kernel_name_rule));
  return there;
}

// As the entry's typed field reads it; without a field, any value of the row's type.
std::optional<Value> Exceptions::overriding(Path path, const Literal& literal) {
  const EntryField* const field = field_of_entry(path.row());
  if (field == nullptr) {
    const Result<Value> value = value_of(path.row(), literal);
    if (value) return *value;
    c_.report(fabric_code::override_value, literal.at, value.error().what, "");
    return std::nullopt;
  }
  Diagnostics told;
  Reporter reporter(c_.catalog.sources, told);
  const std::optional<Value> value = lockstep::read(*field, literal, reporter);
  for (Diagnostic& one : told) {
    one.code = fabric_code::override_value;
    one.message = std::string(schema_row(path.row()).pattern) + ": " + one.message;
    c_.diagnostics.push_back(std::move(one));
  }
  return value;
}

// The fields of a native row are entries of their own (`TABLE|key field`, of a list `field@`; `TABLE|key `:
// the row, for one without fields), so that a spec sets those that it names and leaves the others alone.
void Exceptions::read_raw(ClaimantId who, const Raw& said, const std::vector<DeviceIndex>& covered) {
  const std::string_view driver = to_string(*said.driver);
  const auto add = [&](const std::string& name, const std::string& native, const Literal& value,
                       const Literal& meant, Position at) {
    set(raws_,
        {Path(row("raw[*][*]"), {driver, native}), Value::text(text_of(value)),
         c_.origins.add(who, at, "raw"), meant_entries(driver, name, meant)},
        said.names, &covered);
  };
  for (const auto& [key, literal] : said.set) {
    const bool is_map = literal->shape == Literal::Shape::map;
    if (!is_map || literal->fields.empty()) {
      add(*key, is_map ? *key + " " : *key, *literal, *literal, key.at);
      continue;
    }
    for (const auto& field : literal->fields) {
      Literal alone;
      alone.shape = Literal::Shape::map;
      alone.fields.push_back(field);
      const bool is_list = field.value->shape == Literal::Shape::list;
      add(*key, *key + " " + *field.key + (is_list ? "@" : ""), *field.value, alone, field.key.at);
    }
  }
}

void Exceptions::set(Settings& settings, const Setting& setting, const Said<std::string>& names,
                     const std::vector<DeviceIndex>* covered) {
  if (count_ > kSettingsMax) return;
  const auto add = [&](DeviceIndex device) {
    if (++count_ <= kSettingsMax) settings[device].push_back(setting);
    if (count_ == kSettingsMax + 1)
      c_.report(fabric_code::too_large, c_.origins.origins()[setting.origin].at,
                "overrides and raw entries for more than " + std::to_string(kSettingsMax) + " entries",
                "exceptions are for single devices: say what is so for all in a field");
  };
  if (!names.said && covered != nullptr) {
    std::for_each(covered->begin(), covered->end(), add);
    return;
  }
  const auto expanded = expand_hostlist(*names);
  if (!expanded) return;
  for (const std::string& name : *expanded) {
    const DeviceIndex device = c_.topology.find_device(name);
    if (device != kNone)
      add(device);
    else if (c_.diagnostics.size() < diagnostics_limit)
      c_.report(fabric_code::no_such_device, names.at, "no DeviceSet has a device called " + name,
                "correct the name");
  }
}

void Exceptions::apply(DeviceIndex device, Intent& intent) {
  if (const auto found = raws_.find(device); found != raws_.end()) apply(found->second, device, intent);
  if (const auto found = overrides_.find(device); found != overrides_.end()) {
    apply(found->second, device, intent);
    std::vector<OverriddenEntry> overridden;
    for (const Setting& one : found->second) overridden.push_back({one.path, one.origin});
    check_overrides(c_, device, intent, overridden);
  }
}

void Exceptions::apply(const std::vector<Setting>& settings, DeviceIndex device, Intent& intent) {
  std::map<Path, const Setting*> first;
  std::vector<Clash> clashes;
  for (const Setting& one : settings) {
    const auto [at, fresh] = first.try_emplace(one.path, &one);
    if (!fresh) {
      if (at->second->value != one.value)
        clashes.push_back(
            {one.path, {one.path, at->second->origin, at->second->value}, {one.path, one.origin, one.value}});
      continue;
    }
    if (is_typed(one, intent)) continue;
    const Entry* const before = intent.want.find(one.path);
    if (before != nullptr && before->value != one.value)
      intent.overruled.push_back({one.path, before->value, before->origin, one.origin});
    intent.want.set(one.path, one.value, one.origin);
  }
  std::erase_if(clashes, [this](const Clash& clash) {
    const bool equal = c_.origins.claimant_of(clash.first.origin).priority ==
                       c_.origins.claimant_of(clash.second.origin).priority;
    return equal && !told_.insert({clash.first.origin, clash.second.origin}).second;
  });
  for (const Overruled& one : settle_clashes(c_, device, clashes)) intent.overruled.push_back(one);
}

// Whether an object sets or claims what a raw entry stands for; reported once per pair of lines.
bool Exceptions::is_typed(const Setting& raw, const Intent& intent) {
  return std::any_of(raw.stands_for.begin(), raw.stands_for.end(),
                     [&](const MeantEntries& one) { return is_typed(raw, one, intent); });
}

bool Exceptions::is_typed(const Setting& raw, const MeantEntries& entries, const Intent& intent) {
  OriginId by = 0;
  std::string says;
  const std::span<const Entry> row = intent.want.of_row(entries.row);
  const auto wanted =
      std::find_if(row.begin(), row.end(), [&](const Entry& entry) { return entries.has(entry.path); });
  if (wanted != row.end()) {
    by = wanted->origin;
    says = "says " + wanted->path.text() + ": " + in_quotes(wanted->value.to_string());
  } else {
    const auto owned = std::find_if(intent.claims.begin(), intent.claims.end(), [&](const Claim& claim) {
      const std::size_t both = std::min(claim.keys.size(), entries.keys.size());
      return claim.collection == entries.row &&
             std::equal(claim.keys.begin(), claim.keys.begin() + static_cast<std::ptrdiff_t>(both),
                        entries.keys.begin());
    });
    if (owned == intent.claims.end()) return false;
    by = owned->origin;
    says = "owns " + std::string(schema_row(entries.row).pattern) + " there whole";
  }
  if (!told_.insert({by, raw.origin}).second) return true;
  const Origin& other = c_.origins.origins()[by];
  c_.report(fabric_code::raw_conflict, c_.origins.origins()[raw.origin].at,
            "raw sets " + std::string(raw.path.key(1)) + " of " + intent.device + ", and " + other.object +
                " " + says,
            "set it in one place", {{other.at, "it is set here (" + other.rule + ")"}});
  return true;
}

bool Exceptions::override_any(RowId id) const {
  return std::any_of(overrides_.begin(), overrides_.end(), [id](const auto& device) {
    return std::any_of(device.second.begin(), device.second.end(),
                       [id](const Setting& one) { return one.path.row() == id; });
  });
}

std::vector<Overruled> settle_clashes(Compilation& c, DeviceIndex example,
                                      const std::vector<Clash>& clashes) {
  std::vector<Overruled> out;
  for (const Clash& clash : clashes) {
    const Claimant& first = c.origins.claimant_of(clash.first.origin);
    const Claimant& second = c.origins.claimant_of(clash.second.origin);
    if (first.priority > second.priority) {
      out.push_back({clash.path, clash.second.value, clash.second.origin, clash.first.origin});
      continue;
    }
    const Origin& a = c.origins.origins()[clash.first.origin];
    const Origin& b = c.origins.origins()[clash.second.origin];
    c.report(fabric_code::two_wants, b.at,
             b.object + " wants " + clash.second.value.to_string() + " as " + clash.path.text() + " of " +
                 c.topology.devices[example].name + ", and " + a.object + " wants " +
                 clash.first.value.to_string(),
             "remove one, or give one of the objects a higher priority",
             {{a.at, "the other is set here (" + a.rule + ")"}});
  }
  return out;
}

}  // namespace lockstep
