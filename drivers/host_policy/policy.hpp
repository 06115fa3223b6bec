// HostPolicy: what specs may do to the machine that lockstep runs on. The machine's owner sets it in a file
// that only root can write; it takes precedence over specs, plan files, flags and services.
//
// Promises: each refusal names the line of the policy that causes it. A setting that runs code or changes
// what PCI devices may access (Power in specs/model/schema.hpp) needs a rule that names it, so a new setting
// of that kind is refused until one exists. Without a file, the default below applies: network and memory
// settings that profiles need, and nothing that runs code, loads modules, stops services that protect the
// machine or changes DMA isolation. Refuses: a file that others than root own or can write, or that has an
// error, permits nothing at all.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "specs/language/device_set.hpp"
#include "specs/language/said.hpp"
#include "specs/model/diff.hpp"
#include "specs/model/ip.hpp"

namespace lockstep {

inline constexpr const char* kHostPolicyFile = "/etc/lockstep/host.yaml";

// What a name rule applies to.
enum class PolicySubject : std::uint8_t { sysctl, service, module, parameter, interface, table };
inline constexpr PolicySubject kPolicySubjects[] = {PolicySubject::sysctl, PolicySubject::service,
                                                    PolicySubject::module, PolicySubject::parameter,
                                                    PolicySubject::interface, PolicySubject::table};
std::string_view field_of(PolicySubject subject);  // "sysctls", as the file spells it
std::string_view noun_of(PolicySubject subject);   // "kernel parameter"

// A name, or a prefix and a '*'. Of a file's rules that match a name the longest decides, and among equally
// long ones a refusal wins; if no rule of the file matches, the default's rules apply likewise. A default's
// refusal is overridden only by a rule at least as long. A name that no rule matches is refused.
struct PolicyRule {
  std::string pattern;
  bool allows = false;
  std::string place;  // "/etc/lockstep/host.yaml:7:14"; empty: the default
};

// Why something is refused ("..., at /etc/lockstep/host.yaml:7:14"); none: it is allowed.
using WhyRefused = std::optional<std::string>;

class HostPolicy {
 public:
  // `host`: this machine's name (hostname(1)), used as the device's name if the file names none.
  static HostPolicy by_default(const std::string& host);
  // The file's text, whoever owns it: for `host-policy check`. Errors and warnings are added to `wrong`.
  static HostPolicy from_text(const std::string& name, std::string text, const std::string& host,
                              Sources& sources, Diagnostics& wrong);
  // What applies on this machine now. A file that can't be trusted or read permits nothing, with that as the
  // reason.
  static HostPolicy read(const std::string& file, const std::string& host);

  // Not empty: the file is unusable, so everything is refused for this reason.
  const std::string& broken() const { return broken_; }
  bool is_default() const { return file_.empty(); }  // there is no file

  // Whether these specs are for this machine at all.
  WhyRefused why_not_device(const std::string& device, const std::string& cluster) const;
  WhyRefused why_not_driver(DriverName driver) const;
  // For a change, the rollback of one, or the effect that a remedy is for.
  WhyRefused why_not(const Change& change) const;
  // Whether a change that disturbs traffic or worse may proceed without approval at the prompt, and whether a
  // deletion beyond the policy's share may be confirmed (--confirm-deletion).
  WhyRefused why_not_unasked() const;
  WhyRefused why_not_confirm_deletion() const;

  // Everything that applies, field by field, in the file's syntax: for `host-policy explain`.
  struct Line {
    std::string field;  // "sysctls"
    std::string says;   // "allow net.core.*"
    std::string place;  // empty: the default
  };
  std::vector<Line> lines() const;

 private:
  friend class HostPolicyReader;
  template <class T>
  struct At {
    T value;
    std::string place;
  };
  const std::vector<PolicyRule>& rules(PolicySubject subject) const;
  const PolicyRule* rule_for(PolicySubject subject, std::string_view name) const;
  WhyRefused why_not_every_interface() const;
  WhyRefused why_not_name(PolicySubject subject, const std::string& name) const;
  WhyRefused why_not_address(const IpPrefix& prefix) const;
  WhyRefused why_not_asn(std::int64_t asn) const;
  std::string default_text() const;

  std::string file_;
  std::string broken_;
  At<std::string> device_;
  std::optional<At<std::string>> cluster_;  // none: any
  std::vector<At<DriverName>> drivers_;     // none: all; likewise for addresses and ASNs
  std::array<std::vector<PolicyRule>, std::size(kPolicySubjects)> rules_;
  std::vector<At<IpPrefix>> addresses_;
  std::vector<At<AsnRange>> asns_;
  At<bool> acs_{false, ""};
  At<bool> unasked_{true, ""};
  At<bool> confirmed_deletion_{true, ""};
};

// A file with the default, each line explained, for `host-policy init`.
std::string host_policy_template(const std::string& host);

// hostname(1): the machine's name without its domain.
std::string this_host();

}  // namespace lockstep
