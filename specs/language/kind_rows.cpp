#include "specs/language/kind_rows.hpp"

#include "specs/language/codes.hpp"

namespace lockstep {
namespace {

constexpr Field metadata_fields[] = {
    field<&Metadata::name>("name", "the object's name, unique in its kind",
                           {.required = true, .form = Form::name}),
    field<&Metadata::labels>("labels", "what selectors match", {.key = Form::word}),
    field<&Metadata::annotations>(
        "annotations", "notes for people and tools, of any number of lines; lockstep does not read them",
        {.form = Form::note}),
};
constexpr Field override_fields[] = {
    field<&Override::names>("names", "the devices, a hostlist", {.required = true, .form = Form::hostlist}),
    field<&Override::set>("set", "settings and their values, such as {\"interface[rail0]/mtu\": 1500}",
                          {.required = true, .not_empty = true, .key = Form::entry}),
    field<&Override::reason>("reason", "why", {.required = true, .form = Form::sentence}),
    field<&Override::until>("until", "the last day; after it the override is reported", {.required = true}),
};
constexpr Field raw_fields[] = {
    field<&Raw::driver>("driver", "whose terms these are", {.required = true}),
    field<&Raw::names>("names", "the devices, a hostlist",
                       {.form = Form::hostlist, .otherwise = "all devices that the object covers"}),
    field<&Raw::set>("set", "native keys and their values",
                     {.required = true, .not_empty = true, .key = Form::filled}),
};
constexpr Field every_kind[] = {
    field<&Object::mode>("mode", "what happens by itself: observe or converge",
                         {.otherwise = "the Cluster's mode, else observe"}),
    field<&Object::suspend>("suspend", "nothing is changed while it is true", {.otherwise = "false"}),
    field<&Object::on_delete>("onDelete", "leave, or restore what was found before the first change",
                              {.otherwise = "leave"}),
    field<&Object::priority>("priority", "the higher one holds where two objects claim one setting",
                             {.otherwise = "0"}),
    field<&Object::overrides>("overrides",
                              "exceptions for single devices, each with a reason and an end date"),
    field<&Object::raw>("raw", "what the language cannot say yet, in a driver's own terms"),
};
constexpr Field selector_fields[] = {
    field<&Selector::match_labels>("matchLabels", "labels that a DeviceSet must have"),
    field<&Selector::names>("names", "the devices, a hostlist",
                            {.form = Form::hostlist, .otherwise = "devices of any name"}),
};
constexpr Field credentials_fields[] = {
    field<&Credentials::secret>("secret", "where the secret is kept: systemd:NAME, file:PATH or env:NAME",
                                {.required = true}),
    field<&Credentials::user>("user", "the account", {.form = Form::filled, .otherwise = "none"}),
};

template <auto List>
struct Slots;
template <class Kind, std::vector<Kind> Catalog::*List>
struct Slots<List> {
  using Struct = Kind;
  static Slotted add(Catalog& catalog) {
    Kind& one = (catalog.*List).emplace_back();
    return {&one, &one};
  }
  static void drop_last(Catalog& catalog) { (catalog.*List).pop_back(); }
};

enum class Use : std::uint8_t { settings, rules, records };

template <auto List>
constexpr KindRow row(Use use, std::string_view name, std::string_view plural, std::string_view doc) {
  return {name,
          plural,
          doc,
          struct_type<typename Slots<List>::Struct>,
          Slots<List>::add,
          Slots<List>::drop_last,
          use == Use::settings,
          use == Use::records};
}

}  // namespace

template <>
const Type& struct_type<Metadata>() {
  static constexpr Type type = object_type<Metadata>("metadata", metadata_fields);
  return type;
}
template <>
const Type& struct_type<Override>() {
  static constexpr Type type = object_type<Override>("an override", override_fields);
  return type;
}
template <>
const Type& struct_type<Raw>() {
  static constexpr Type type = object_type<Raw>("raw", raw_fields);
  return type;
}
template <>
const Type& struct_type<Selector>() {
  static constexpr Type type = object_type<Selector>("a selector", selector_fields);
  return type;
}
template <>
const Type& struct_type<Credentials>() {
  static constexpr Type type = object_type<Credentials>("credentials", credentials_fields);
  return type;
}

const Type& object_fields() {
  static constexpr Type type = object_type<Object>("an object", every_kind);
  return type;
}
const Type& metadata_type() { return struct_type<Metadata>(); }

std::span<const KindRow> kind_rows() {
  using enum Use;
  static constexpr KindRow rows[] = {
      row<&Catalog::device_sets>(settings, "DeviceSet", "devicesets",
                                 "which hosts and switches exist, and how they are reached"),
      row<&Catalog::fabrics>(settings, "Fabric", "fabrics",
                             "one network: topology, cabling, addressing, routing, MTU, load balancing"),
      row<&Catalog::roce_profiles>(settings, "RoceProfile", "roceprofiles",
                                   "one lossless/QoS policy for both ends of every link"),
      row<&Catalog::host_profiles>(settings, "HostProfile", "hostprofiles", "how a host must be set up"),
      row<&Catalog::validation_suites>(rules, "ValidationSuite", "validationsuites",
                                       "the benchmarks and the SLOs that must hold"),
      row<&Catalog::rollout_policies>(rules, "RolloutPolicy", "rolloutpolicies",
                                      "how a change may reach devices"),
      row<&Catalog::git_sources>(rules, "GitSource", "gitsources", "where the specs come from"),
      row<&Catalog::clusters>(rules, "Cluster", "clusters", "what is true of the whole"),
      row<&Catalog::devices>(records, "Device", "devices", "facts, drift and conditions of one device"),
      row<&Catalog::changes>(records, "Change", "changes", "a plan that was carried out"),
      row<&Catalog::benchmark_runs>(records, "BenchmarkRun", "benchmarkruns", "a run of a ValidationSuite"),
      row<&Catalog::findings>(records, "Finding", "findings",
                              "a fault, its evidence, its probable cause and what it costs"),
  };
  return rows;
}

const KindRow* find_kind(std::string_view name) {
  for (const KindRow& one : kind_rows())
    if (one.name == name) return &one;
  return nullptr;
}

}  // namespace lockstep
