#include "drivers/host_policy/policy_file.hpp"

#include <algorithm>

#include "drivers/host_policy/policy.hpp"
#include "specs/language/codes.hpp"
#include "specs/language/kind_rows.hpp"
#include "specs/model/near_miss.hpp"

namespace lockstep {
namespace {

constexpr std::string_view kKind = "HostPolicy";

constexpr Field name_rules_fields[] = {
    field<&NameRules::allow>("allow", "names, or what they begin with and a '*'", {.form = Form::word}),
    field<&NameRules::refuse>("refuse", "the same; of equally long ones a refusal comes first",
                              {.form = Form::word}),
};
constexpr Field pci_fields[] = {
    field<&PciRules::acs>("acs", "whether access control services may be changed: DMA isolation"),
};
constexpr Field waivers_fields[] = {
    field<&WaiverRules::approval>("approval",
                                  "refuse: what disturbs traffic needs an answer at the prompt, whatever a "
                                  "RolloutPolicy or --yes says"),
    field<&WaiverRules::deletion>("deletion", "refuse: --confirm-deletion confirms nothing"),
};
constexpr Field spec_fields[] = {
    field<&HostRules::device>("device", "the name that specs have for this machine", {.form = Form::name}),
    field<&HostRules::cluster>("cluster", "the name of the only cluster that it belongs to",
                               {.form = Form::name}),
    field<&HostRules::drivers>("drivers", "the only drivers that may change it", {.not_empty = true}),
    field<&HostRules::sysctls>("sysctls", "kernel parameters that specs may set"),
    field<&HostRules::services>("services", "systemd units that specs may start, stop and enable"),
    field<&HostRules::modules>("modules", "kernel modules that specs may have loaded at boot"),
    field<&HostRules::device_parameters>("deviceParameters", "devlink parameters that specs may set"),
    field<&HostRules::interfaces>("interfaces", "interfaces that specs may touch"),
    field<&HostRules::tables>("tables", "tables of SONiC's CONFIG_DB that raw: may set"),
    field<&HostRules::addresses>("addresses", "the only blocks of addresses and routes that it may have",
                                 {.not_empty = true}),
    field<&HostRules::asns>("asns", "the only AS numbers that it may speak for", {.not_empty = true}),
    field<&HostRules::pci>("pci", "PCI Express"),
    field<&HostRules::waivers>("waivers", "what people may do without"),
};
constexpr Field document_fields[] = {
    field<&HostPolicyDocument::api_version>("apiVersion", "lockstep.dev/v1alpha1", {.required = true}),
    field<&HostPolicyDocument::kind>("kind", "HostPolicy", {.required = true}),
    field<&HostPolicyDocument::spec>("spec", "what specs may do to this machine", {.required = true}),
};

void check_document(const HostPolicyDocument& document, Span, Reporter& reporter) {
  const auto is = [&](const Said<std::string>& said, std::string_view right, std::string_view code) {
    if (said.said && *said != right)
      reporter.error(code, {said.at, static_cast<std::uint32_t>(said->size())}, "this is " + in_quotes(*said),
                     "write " + std::string(right));
  };
  is(document.api_version, api_version, code::unknown_api_version);
  is(document.kind, kKind, code::unknown_kind);
}

void check_names(const NameRules& rules, Span, Reporter& reporter) {
  for (const auto* const list : {&rules.allow, &rules.refuse})
    for (const Said<std::string>& one : *list)
      if (one.said && one->starts_with("net/"))
        reporter.error(code::bad_name, {one.at, static_cast<std::uint32_t>(one->size())},
                       in_quotes(*one) + " has slashes", "a kernel parameter's name has dots");
      else if (one.said && one->find('[') != one->npos)
        reporter.error(code::bad_name, {one.at, static_cast<std::uint32_t>(one->size())},
                       in_quotes(*one) + " is no name: hostlists are not part of a policy",
                       "write each name, or what they begin with and a '*', such as rail*");
      else if (const std::size_t star = one->find('*');
               one.said && star != one->npos && star + 1 != one->size())
        reporter.error(code::bad_name, {one.at, static_cast<std::uint32_t>(one->size())},
                       in_quotes(*one) + " has a '*' that is not at its end",
                       "a '*' stands for the rest of a name, such as net.ipv4.*");
  for (const Said<std::string>& one : rules.allow) {
    const auto same = std::find_if(rules.refuse.begin(), rules.refuse.end(),
                                   [&](const Said<std::string>& other) { return *other == *one; });
    if (same != rules.refuse.end())
      reporter.error(code::written_twice, {one.at, static_cast<std::uint32_t>(one->size())},
                     in_quotes(*one) + " is allowed and refused", "keep one of the two",
                     {{same->at, "refused here"}});
  }
}

// Kernel parameters by their first component (Documentation/admin-guide/sysctl/index.rst, and those of
// modules that ship with Linux).
constexpr std::string_view kSysctlTrees[] = {"abi", "crypto", "debug", "dev", "fs", "kernel",
                                             "net", "sunrpc", "user",  "vm",  "xen"};

// Reports rules that would take effect, but not as intended.
void check_rules(const HostRules& rules, Span, Reporter& reporter) {
  for (const auto* const list : {&rules.sysctls->allow, &rules.sysctls->refuse})
    for (const Said<std::string>& one : *list) {
      const std::size_t dot = one->find('.');
      const std::string_view tree = std::string_view(*one).substr(0, dot);
      if (!one.said || *one == "*" || one->find('/') != one->npos ||
          std::ranges::find(kSysctlTrees, tree) != std::end(kSysctlTrees))
        continue;
      if (dot == one->npos && tree.ends_with('*')) continue;  // "ne*"
      const std::string_view near = nearest(tree, kSysctlTrees);
      reporter.error(code::bad_name, {one.at, static_cast<std::uint32_t>(one->size())},
                     "no kernel parameter's name begins with " + in_quotes(tree),
                     near.empty() ? "it is written as sysctl(8) shows it, such as net.core.rmem_max"
                                  : "did you mean " + in_quotes(near) + "?");
    }
  for (const Said<IpPrefix>& one : rules.addresses)
    if (one.said && !one->is_network())
      reporter.error(code::bad_prefix, {one.at, static_cast<std::uint32_t>(one->text().size())},
                     in_quotes(one->text()) + " is an address in a block, and no block",
                     "did you mean '" + one->network().text() + "'?");
}

}  // namespace

template <>
const Type& struct_type<NameRules>() {
  static constexpr Type type =
      object_type<NameRules>("rules of names", name_rules_fields, checked<NameRules, check_names>);
  return type;
}
template <>
const Type& struct_type<PciRules>() {
  static constexpr Type type = object_type<PciRules>("rules of PCI Express", pci_fields);
  return type;
}
template <>
const Type& struct_type<WaiverRules>() {
  static constexpr Type type = object_type<WaiverRules>("waivers", waivers_fields);
  return type;
}
template <>
const Type& struct_type<HostRules>() {
  static constexpr Type type =
      object_type<HostRules>("a host policy's spec", spec_fields, checked<HostRules, check_rules>);
  return type;
}
template <>
const Type& struct_type<HostPolicyDocument>() {
  static constexpr Type type = object_type<HostPolicyDocument>("a HostPolicy", document_fields,
                                                               checked<HostPolicyDocument, check_document>);
  return type;
}

// Overlays a file's content on the default.
class HostPolicyReader {
 public:
  HostPolicyReader(HostPolicy& policy, const Sources& sources) : policy_(policy), sources_(sources) {}

  void read(const HostRules& said) {
    if (said.device.said) policy_.device_ = {*said.device, place(said.device.at)};
    if (said.cluster.said)
      policy_.cluster_ = HostPolicy::At<std::string>{*said.cluster, place(said.cluster.at)};
    all_of(said.drivers, policy_.drivers_);
    names(PolicySubject::sysctl, *said.sysctls);
    names(PolicySubject::service, *said.services);
    names(PolicySubject::module, *said.modules);
    names(PolicySubject::parameter, *said.device_parameters);
    names(PolicySubject::interface, *said.interfaces);
    names(PolicySubject::table, *said.tables);
    all_of(said.addresses, policy_.addresses_);
    all_of(said.asns, policy_.asns_);
    one(said.pci->acs, policy_.acs_);
    one(said.waivers->approval, policy_.unasked_);
    one(said.waivers->deletion, policy_.confirmed_deletion_);
  }

 private:
  std::string place(const Position& at) const {
    return sources_.files[at.file].name + ":" + std::to_string(at.line) + ":" + std::to_string(at.column);
  }

  template <class T>
  void all_of(const std::vector<Said<T>>& said, std::vector<HostPolicy::At<T>>& out) const {
    for (const Said<T>& each : said) out.push_back({*each, place(each.at)});
  }

  void one(const Said<RuleWord>& said, HostPolicy::At<bool>& out) const {
    if (said.said) out = {*said == RuleWord::allow, place(said.at)};
  }

  // Inserted before the default's rules, so that among equal ones the first decides.
  void names(PolicySubject subject, const NameRules& said) {
    std::vector<PolicyRule> rules;
    for (const Said<std::string>& each : said.refuse) rules.push_back({*each, false, place(each.at)});
    for (const Said<std::string>& each : said.allow) rules.push_back({*each, true, place(each.at)});
    std::vector<PolicyRule>& all = policy_.rules_[static_cast<std::size_t>(subject)];
    // A file that lists allowed interfaces allows no others.
    if (subject == PolicySubject::interface && !said.allow.empty()) all.clear();
    all.insert(all.begin(), rules.begin(), rules.end());
  }

  HostPolicy& policy_;
  const Sources& sources_;
};

HostPolicy HostPolicy::from_text(const std::string& name, std::string text, const std::string& host,
                                 Sources& sources, Diagnostics& wrong) {
  HostPolicy policy = by_default(host);
  policy.file_ = name;
  const std::uint32_t file = sources.add(name, std::move(text));
  Reporter reporter(sources, wrong);
  std::size_t documents = 0;
  HostPolicyDocument document;
  read_documents(file, reporter, [&](const Node& root) {
    if (++documents > 1)
      return reporter.error(code::written_twice, span_of(root), "a second document", "a host has one policy");
    const Type& type = struct_type<HostPolicyDocument>();
    type.load(type, {}, root, &document, reporter);
  });
  if (documents == 0 && !reporter.incomplete())
    reporter.error(code::no_specs, {{file, 0, 0}, 1}, "nothing is written here",
                   "`lockstep host-policy init` writes a first one; without a file the default holds");
  reporter.finish();
  if (has_errors(wrong)) {
    const Diagnostic& first = *std::find_if(
        wrong.begin(), wrong.end(), [](const Diagnostic& one) { return one.severity == Severity::error; });
    policy.broken_ =
        name +
        (first.at.line == 0 ? ""
                            : ":" + std::to_string(first.at.line) + ":" + std::to_string(first.at.column)) +
        ": " + first.message;
    return policy;
  }
  HostPolicyReader(policy, sources).read(*document.spec);
  return policy;
}

}  // namespace lockstep
