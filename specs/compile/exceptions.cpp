#include "specs/compile/exceptions.hpp"

#include <algorithm>

#include "specs/fabric/codes.hpp"
#include "specs/language/hostlist.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

Error wrong(RowId id, std::string_view expected) {
  return Error{ErrorKind::invalid_spec,
               std::string(schema_row(id).pattern) + " takes " + std::string(expected)};
}

std::string text_of(const Literal& literal) {
  if (literal.shape != Literal::Shape::list && literal.shape != Literal::Shape::map) return literal.text;
  std::string out;
  for (const Literal& item : literal.items) out += (out.empty() ? "" : ",") + text_of(item);
  for (const auto& [key, value] : literal.fields)
    out += (out.empty() ? "" : ",") + *key + "=" + text_of(value);
  return out;
}

}  // namespace

Result<Value> value_of(RowId id, const Literal& literal) {
  using Shape = Literal::Shape;
  switch (schema_row(id).type) {
    case LeafType::present:
      if (literal.shape == Shape::boolean && literal.boolean) return Value::present();
      return wrong(id, "`true`: the member is there");
    case LeafType::boolean:
      if (literal.shape == Shape::boolean) return Value::boolean(literal.boolean);
      return wrong(id, "true or false");
    case LeafType::integer:
      if (literal.shape == Shape::integer) return Value::integer(literal.integer);
      return wrong(id, schema_row(id).unit.empty()
                           ? std::string("a whole number")
                           : "a whole number, in " + std::string(schema_row(id).unit));
    case LeafType::text:
      if (literal.shape != Shape::list && literal.shape != Shape::map && literal.shape != Shape::null)
        return Value::text(literal.text);
      return wrong(id, "a text");
    case LeafType::list: {
      if (literal.shape != Shape::list) return wrong(id, "a list");
      std::vector<std::string> items;
      for (const Literal& item : literal.items) items.push_back(text_of(item));
      return schema_row(id).compare == Compare::set ? Value::set(std::move(items)) : Value::list(items);
    }
    case LeafType::secret: return wrong(id, "a secret, which is never written in specs");
  }
  return wrong(id, "nothing");
}

Exceptions::Exceptions(Compilation& c, const std::vector<std::vector<DeviceIndex>>& covered) : c_(c) {
  for (std::size_t i = 0; i < c.device_sets.size(); ++i)
    read(c.device_sets[i], c.catalog.device_sets[i], covered[c.device_sets[i]]);
  for (std::size_t i = 0; i < c.fabrics.size(); ++i)
    read(c.fabrics[i], c.catalog.fabrics[i], covered[c.fabrics[i]]);
  for (std::size_t i = 0; i < c.roce_profiles.size(); ++i)
    read(c.roce_profiles[i], c.catalog.roce_profiles[i], covered[c.roce_profiles[i]]);
  for (std::size_t i = 0; i < c.host_profiles.size(); ++i)
    read(c.host_profiles[i], c.catalog.host_profiles[i], covered[c.host_profiles[i]]);
}

void Exceptions::read(ClaimantId who, const Object& object, const std::vector<DeviceIndex>& covered) {
  for (const Override& one : object.overrides) read_override(who, one);
  for (const Raw& one : object.raw) read_raw(who, one, covered);
}

void Exceptions::read_override(ClaimantId who, const Override& said) {
  if (c_.options.today && said.until.said && *said.until < *c_.options.today) {
    c_.report(fabric_code::override_ended, said.until.at,
              "this override was to end on " + format(*said.until) + ": " + *said.reason,
              "it still holds: remove it, or give it a new date");
    c_.diagnostics.back().severity = Severity::warning;
  }
  for (const auto& [key, literal] : said.set) {
    const Result<Path> path = Path::parse(*key);
    if (!path || schema_row(path->row()).facet == Facet::effect) {
      c_.report(fabric_code::override_path, key.at,
                path ? *key + " is an effect: it can be observed, not set" : path.error().what,
                "name a leaf as `lockstep explain` shows it");
      continue;
    }
    const Result<Value> value = value_of(path->row(), *literal);
    if (!value) {
      c_.report(fabric_code::override_value, literal.at, value.error().what, "");
      continue;
    }
    const std::string why = "override until " + format(*said.until) + ": " + *said.reason;
    set({*path, *value, c_.origins.add(who, literal.at, why), false}, said.names, nullptr);
  }
}

void Exceptions::read_raw(ClaimantId who, const Raw& said, const std::vector<DeviceIndex>& covered) {
  for (const auto& [key, literal] : said.set)
    set({Path(row("raw[*][*]"), {*said.driver, *key}), Value::text(text_of(*literal)),
         c_.origins.add(who, key.at, "raw"), true},
        said.names, &covered);
}

void Exceptions::set(Setting setting, const Said<std::string>& names,
                     const std::vector<DeviceIndex>* covered) {
  if (!names.said && covered != nullptr) {
    for (const DeviceIndex device : *covered) settings_[device].push_back(setting);
    return;
  }
  const auto expanded = expand_hostlist(*names);
  if (!expanded) return;
  for (const std::string& name : *expanded) {
    const DeviceIndex device = c_.topology.find_device(name);
    if (device != kNone)
      settings_[device].push_back(setting);
    else
      c_.report(fabric_code::no_such_device, names.at, "no DeviceSet has a device called " + name,
                "correct the name");
  }
}

void Exceptions::apply(DeviceIndex device, Intent& intent) {
  const auto found = settings_.find(device);
  if (found == settings_.end()) return;
  for (const Setting& one : found->second) {
    if (!one.raw) {
      const Leaf* const before = intent.want.find(one.path);
      if (before != nullptr && before->value != one.value)
        intent.overruled.push_back({one.path, before->value, before->origin, one.origin});
      intent.want.set(one.path, one.value, one.origin);
      continue;
    }
    // A raw entry that names a typed leaf says the same thing twice.
    const Result<Path> typed = Path::parse(one.path.key(1));
    const Leaf* before = typed ? intent.want.find(*typed) : intent.want.find(one.path);
    if (before != nullptr && (typed || before->value != one.value)) {
      const Origin& other = c_.origins.origins()[before->origin];
      c_.report(fabric_code::raw_conflict, c_.origins.origins()[one.origin].at,
                "raw sets " + std::string(one.path.key(1)) + " of " + intent.device + ", and " +
                    other.object + " says " + before->value.to_string(),
                "say it in one place", {{other.at, "it is said here (" + other.rule + ")"}});
      continue;
    }
    intent.want.set(one.path, one.value, one.origin);
  }
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
             {{a.at, "the other is wanted here (" + a.rule + ")"}});
  }
  return out;
}

}  // namespace lockstep
