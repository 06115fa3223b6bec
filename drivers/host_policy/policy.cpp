#include "drivers/host_policy/policy.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "drivers/host_policy/map.hpp"
#include "specs/files/descriptor.hpp"
#include "specs/files/read_file.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

struct SubjectWords {
  std::string_view field;
  std::string_view noun;
};
constexpr SubjectWords kWords[] = {{"sysctls", "kernel parameter"}, {"services", "systemd unit"},
                                   {"modules", "kernel module"},    {"deviceParameters", "devlink parameter"},
                                   {"interfaces", "interface"},     {"tables", "table of CONFIG_DB"}};

struct DefaultRule {
  PolicySubject subject;
  std::string_view pattern;
  bool allows;
};
// Settings of AI host profiles (network and memory tuning from NVIDIA's and the kernel's own documentation:
// Documentation/admin-guide/sysctl/{net,vm,kernel}.rst). Refused among them: settings that load modules by
// name (net/sched/sch_api.c, qdisc_set_default; net/ipv4/tcp_cong.c, tcp_ca_find_autoload), that weaken the
// BPF JIT, and that give unprivileged users ports or raw sockets.
constexpr DefaultRule kDefault[] = {
    {PolicySubject::sysctl, "net.core.*", true},
    {PolicySubject::sysctl, "net.ipv4.*", true},
    {PolicySubject::sysctl, "net.ipv6.*", true},
    {PolicySubject::sysctl, "net.mptcp.*", true},
    {PolicySubject::sysctl, "net.core.bpf_jit_*", false},
    {PolicySubject::sysctl, "net.core.default_qdisc", false},
    {PolicySubject::sysctl, "net.ipv4.tcp_congestion_control", false},
    {PolicySubject::sysctl, "net.ipv4.tcp_allowed_congestion_control", false},
    {PolicySubject::sysctl, "net.ipv4.ip_unprivileged_port_start", false},
    {PolicySubject::sysctl, "net.ipv4.ping_group_range", false},
    {PolicySubject::sysctl, "vm.nr_hugepages", true},
    {PolicySubject::sysctl, "vm.nr_overcommit_hugepages", true},
    {PolicySubject::sysctl, "vm.max_map_count", true},
    {PolicySubject::sysctl, "vm.min_free_kbytes", true},
    {PolicySubject::sysctl, "vm.overcommit_memory", true},
    {PolicySubject::sysctl, "vm.overcommit_ratio", true},
    {PolicySubject::sysctl, "vm.swappiness", true},
    {PolicySubject::sysctl, "vm.zone_reclaim_mode", true},
    {PolicySubject::sysctl, "vm.compaction_proactiveness", true},
    {PolicySubject::sysctl, "vm.stat_interval", true},
    {PolicySubject::sysctl, "vm.vfs_cache_pressure", true},
    {PolicySubject::sysctl, "vm.dirty_background_ratio", true},
    {PolicySubject::sysctl, "vm.dirty_ratio", true},
    {PolicySubject::sysctl, "kernel.numa_balancing", true},
    {PolicySubject::service, "irqbalance", true},
    {PolicySubject::service, "lldpd", true},
    {PolicySubject::service, "nvidia-fabricmanager", true},
    {PolicySubject::service, "nvidia-persistenced", true},
    // Documentation/networking/devlink/devlink-params.rst: none of these loads firmware or resets the device
    // by itself.
    {PolicySubject::parameter, "enable_roce", true},
    {PolicySubject::parameter, "event_eq_size", true},
    {PolicySubject::parameter, "io_eq_size", true},
    {PolicySubject::parameter, "max_macs", true},
    {PolicySubject::interface, "*", true},
};

constexpr std::size_t kLargest = std::size_t{1} << 20;  // arbitrary: far above any policy

// systemd.unit(5): a name without a suffix is a service's. modprobe(8): '-' and '_' are equivalent in module
// names.
std::string canonical(PolicySubject subject, std::string_view name) {
  constexpr std::string_view kSuffix = ".service";
  if (subject == PolicySubject::service && name.ends_with(kSuffix)) name.remove_suffix(kSuffix.size());
  // Two names for one parameter (net/ipv4/devinet.c, ctl_forward_entry).
  if (subject == PolicySubject::sysctl && name == "net.ipv4.ip_forward")
    name = "net.ipv4.conf.all.forwarding";
  std::string out(name);
  if (subject == PolicySubject::module) std::replace(out.begin(), out.end(), '-', '_');
  return out;
}

bool matches(PolicySubject subject, const std::string& pattern, std::string_view name) {
  const bool rest = pattern.ends_with('*');
  if (!rest) return canonical(subject, pattern) == name;
  const std::string begin = canonical(subject, std::string_view(pattern).substr(0, pattern.size() - 1));
  return name.starts_with(begin);
}

std::string at(const std::string& place) { return place.empty() ? "" : ", at " + place; }

Error unsafe(const std::string& path, const std::string& why) {
  return Error{ErrorKind::denied, path + " " + why + ": it must be root's, and writable by nobody else"};
}

// Anyone who may write it could grant themselves any permission.
Result<Done> is_roots_alone(int descriptor, const std::string& path) {
  struct stat found {};
  if (::fstat(descriptor, &found) != 0) return Error{ErrorKind::denied, path + ": " + std::strerror(errno)};
  if (found.st_uid != 0) return unsafe(path, "belongs to user " + std::to_string(found.st_uid));
  if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return unsafe(path, "can be written by its group or by others");
  return Done{};
}

// None: the file does not exist.
Result<std::optional<std::string>> text_of(const std::string& file) {
  const std::size_t slash = file.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : file.substr(0, slash);
  const std::string name = slash == std::string::npos ? file : file.substr(slash + 1);
  const Descriptor folder(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder && errno == ENOENT) return std::optional<std::string>();
  // A symbolic link there yields ENOTDIR (open(2), O_DIRECTORY with O_NOFOLLOW).
  if (!folder && (errno == ENOTDIR || errno == ELOOP)) return unsafe(directory, "is no folder of its own");
  if (!folder) return Error{ErrorKind::denied, directory + ": " + std::strerror(errno)};
  TRY_DONE(is_roots_alone(folder.number(), directory));
  const Descriptor in(
      ::openat(folder.number(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!in && errno == ENOENT) return std::optional<std::string>();
  if (!in && errno == ELOOP) return unsafe(file, "is a symbolic link");
  if (!in) return Error{ErrorKind::denied, file + ": " + std::strerror(errno)};
  TRY_DONE(is_roots_alone(in.number(), file));
  struct stat found {};
  if (::fstat(in.number(), &found) != 0 || !S_ISREG(found.st_mode))
    return Error{ErrorKind::denied, file + " is no regular file"};
  FileText read = read_open(in.number(), kLargest);
  if (!read) return Error{ErrorKind::denied, file + " is " + read.why};
  return std::optional(std::move(read.text));
}

std::string without_domain(const std::string& host) { return host.substr(0, host.find('.')); }

}  // namespace

std::string_view field_of(PolicySubject subject) { return kWords[static_cast<std::size_t>(subject)].field; }
std::string_view noun_of(PolicySubject subject) { return kWords[static_cast<std::size_t>(subject)].noun; }

std::string this_host() {
  char name[256] = {};  // HOST_NAME_MAX is 64 on Linux (gethostname(2))
  if (::gethostname(name, sizeof name - 1) != 0) return "";
  return name;
}

HostPolicy HostPolicy::by_default(const std::string& host) {
  HostPolicy policy;
  policy.device_.value = host;
  for (const DefaultRule& one : kDefault)
    policy.rules_[static_cast<std::size_t>(one.subject)].push_back(
        {std::string(one.pattern), one.allows, ""});
  return policy;
}

HostPolicy HostPolicy::read(const std::string& file, const std::string& host) {
  Result<std::optional<std::string>> text = text_of(file);
  if (!text) {
    HostPolicy policy = by_default(host);
    policy.file_ = file;
    policy.broken_ = text.error().text();
    return policy;
  }
  if (!*text) return by_default(host);
  Sources sources;
  Diagnostics wrong;
  return from_text(file, **std::move(text), host, sources, wrong);
}

std::string HostPolicy::default_text() const {
  return is_default() ? std::string(" (the default: there is no ") + kHostPolicyFile + ")"
                      : " (the default, as " + file_ + " says nothing of it)";
}

WhyRefused HostPolicy::why_not_device(const std::string& device, const std::string& cluster) const {
  if (!broken_.empty()) return broken_;
  const bool by_default = device_.place.empty();
  if (device != device_.value && !(by_default && device == without_domain(device_.value)))
    return "the specs call this machine '" + device + "', and it is '" + device_.value + "'" +
           (by_default
                ? " by its host name; spec.device of " + std::string(kHostPolicyFile) + " gives another"
                : at(device_.place));
  if (cluster_ && cluster != cluster_->value)
    return "the specs are of cluster '" + cluster + "', and this machine is of '" + cluster_->value + "'" +
           at(cluster_->place);
  return std::nullopt;
}

WhyRefused HostPolicy::why_not_driver(DriverName driver) const {
  if (!broken_.empty()) return broken_;
  if (drivers_.empty()) return std::nullopt;
  for (const At<DriverName>& one : drivers_)
    if (one.value == driver) return std::nullopt;
  return "driver '" + std::string(to_string(driver)) + "' is not among spec.drivers" +
         at(drivers_.front().place);
}

const PolicyRule* HostPolicy::rule_for(PolicySubject subject, std::string_view name) const {
  const std::string asked = canonical(subject, name);
  const PolicyRule* said = nullptr;  // from the file
  const PolicyRule* otherwise = nullptr;
  for (const PolicyRule& one : rules(subject)) {
    const PolicyRule*& best = one.place.empty() ? otherwise : said;
    if (matches(subject, one.pattern, asked) &&
        (best == nullptr || one.pattern.size() > best->pattern.size()))
      best = &one;
  }
  if (said == nullptr) return otherwise;
  const bool too_wide = said->allows && otherwise != nullptr && !otherwise->allows &&
                        otherwise->pattern.size() > said->pattern.size();
  return too_wide ? otherwise : said;
}

// A change of all interfaces includes those that must never be touched.
WhyRefused HostPolicy::why_not_every_interface() const {
  for (const PolicyRule& one : rules(PolicySubject::interface))
    if (!one.allows)
      return "it concerns every interface, and '" + one.pattern + "' is refused" + at(one.place);
  const bool all = std::ranges::any_of(rules(PolicySubject::interface),
                                       [](const PolicyRule& one) { return one.pattern == "*"; });
  if (all) return std::nullopt;
  return "it concerns every interface, and only some are among spec.interfaces" +
         at(rules(PolicySubject::interface).front().place);
}

WhyRefused HostPolicy::why_not_name(PolicySubject subject, const std::string& name) const {
  const PolicyRule* const rule = rule_for(subject, name);
  if (rule != nullptr && rule->allows) return std::nullopt;
  const std::string what = std::string(noun_of(subject)) + " '" + name + "'";
  if (rule != nullptr && !rule->place.empty()) return what + " is refused" + at(rule->place);
  // A file's rules come first: if the last rule is one of them, the file has replaced the default.
  const std::vector<PolicyRule>& all = rules(subject);
  if (!all.empty() && !all.back().place.empty())
    return what + " is not among spec." + std::string(field_of(subject)) + at(all.front().place);
  return what + " is not among spec." + std::string(field_of(subject)) + default_text();
}

WhyRefused HostPolicy::why_not_address(const IpPrefix& prefix) const {
  if (addresses_.empty()) return std::nullopt;
  for (const At<IpPrefix>& one : addresses_)
    if (one.value.contains(prefix)) return std::nullopt;
  return prefix.text() + " is outside of spec.addresses" + at(addresses_.front().place);
}

WhyRefused HostPolicy::why_not_asn(std::int64_t asn) const {
  if (asns_.empty()) return std::nullopt;
  for (const At<AsnRange>& one : asns_)
    if (asn >= one.value.first && asn <= one.value.last) return std::nullopt;
  return "AS " + std::to_string(asn) + " is outside of spec.asns" + at(asns_.front().place);
}

WhyRefused HostPolicy::why_not(const Change& change) const {
  if (!broken_.empty()) return broken_;
  const Touched touched = touched_by(change);
  for (const auto& [subject, name] : touched.names)
    if (WhyRefused why = why_not_name(subject, name)) return why;
  if (touched.every_interface)
    if (WhyRefused why = why_not_every_interface()) return why;
  for (const IpPrefix& prefix : touched.prefixes)
    if (WhyRefused why = why_not_address(prefix)) return why;
  for (const std::int64_t asn : touched.asns)
    if (WhyRefused why = why_not_asn(asn)) return why;
  if (touched.acs && !acs_.value)
    return "a change of PCI access control services (DMA isolation) is not among what spec.pci allows" +
           (acs_.place.empty() ? default_text() : at(acs_.place));
  if (schema_row(change.path.row()).power >= Power::dma_isolation && !touched.ruled)
    return "no rule of a host policy can allow '" + std::string(schema_row(change.path.row()).pattern) + "'";
  return std::nullopt;
}

WhyRefused HostPolicy::why_not_unasked() const {
  if (!broken_.empty()) return broken_;
  if (unasked_.value) return std::nullopt;
  return "this host's policy wants an answer at the prompt" + at(unasked_.place);
}

WhyRefused HostPolicy::why_not_confirm_deletion() const {
  if (!broken_.empty()) return broken_;
  if (confirmed_deletion_.value) return std::nullopt;
  return "this host's policy lets nobody confirm it" + at(confirmed_deletion_.place);
}

std::vector<HostPolicy::Line> HostPolicy::lines() const {
  std::vector<Line> out{{"device", device_.value, device_.place}};
  const auto add = [&out](std::string field, std::string says, const std::string& place) {
    out.push_back({std::move(field), std::move(says), place});
  };
  add("cluster", cluster_ ? cluster_->value : "any", cluster_ ? cluster_->place : "");
  if (drivers_.empty()) add("drivers", "any", "");
  for (const At<DriverName>& one : drivers_) add("drivers", std::string(to_string(one.value)), one.place);
  for (const PolicySubject subject : kPolicySubjects) {
    const std::string field(field_of(subject));
    if (rules(subject).empty()) add(field, "none", "");
    for (const PolicyRule& one : rules(subject))
      add(field, (one.allows ? "allow " : "refuse ") + one.pattern, one.place);
  }
  if (addresses_.empty()) add("addresses", "any", "");
  for (const At<IpPrefix>& one : addresses_) add("addresses", one.value.text(), one.place);
  if (asns_.empty()) add("asns", "any", "");
  for (const At<AsnRange>& one : asns_) add("asns", format(one.value), one.place);
  const auto add_word = [&add](const char* field, const At<bool>& word) {
    add(field, word.value ? "allow" : "refuse", word.place);
  };
  add_word("pci.acs", acs_);
  add_word("waivers.approval", unasked_);
  add_word("waivers.deletion", confirmed_deletion_);
  return out;
}

const std::vector<PolicyRule>& HostPolicy::rules(PolicySubject subject) const {
  return rules_[static_cast<std::size_t>(subject)];
}

std::string host_policy_template(const std::string& host) {
  return "# What specs may do to this machine, whoever wrote them: its own word, for root alone to change.\n"
         "# What is not set here has its default; `lockstep host-policy explain` shows all that holds, and\n"
         "# `lockstep host-policy check` reads this file as an apply does. Of the rules that match a name "
         "the\n"
         "# longest decides, a refusal before a permission; a '*' stands for the rest of a name.\n"
         "apiVersion: lockstep.dev/v1alpha1\n"
         "kind: HostPolicy\n"
         "spec:\n"
         "  device: " +
         without_domain(host) +
         "                  # what specs call this machine\n"
         "  # cluster: pod1              # the only cluster that it belongs to; else any\n"
         "  # drivers: [linux, frr]      # the only ones that may change it; else all\n"
         "  # sysctls: {allow: [net.core.default_qdisc], refuse: [net.ipv4.ip_forward]}\n"
         "  # services: {allow: [chrony]}\n"
         "  # modules: {allow: [nvidia_peermem]}\n"
         "  # deviceParameters: {allow: [enable_sriov]}\n"
         "  # interfaces: {refuse: [eth0]}    # never touched, also not with all others; allow: only these\n"
         "  # tables: {allow: [VLAN, \"BUFFER_*\"]}   # of a SONiC switch, for raw:; some of them run code\n"
         "  # addresses: [10.64.0.0/16]       # the only blocks; else any\n"
         "  # asns: [4200000000-4200009999]   # the only AS numbers; else any\n"
         "  pci: {acs: refuse}                # ACS keeps PCI devices apart: off lets them reach one "
         "another\n"
         "  # approval: refuse: what disturbs traffic needs an answer at the prompt, whatever specs and "
         "--yes say\n"
         "  # deletion: refuse: --confirm-deletion has no effect here\n"
         "  waivers: {approval: allow, deletion: allow}\n";
}

}  // namespace lockstep
