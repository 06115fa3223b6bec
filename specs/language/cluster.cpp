// The field tables of RolloutPolicy, GitSource and Cluster, and the rules between their fields.
#include "specs/language/cluster.hpp"

#include "specs/files/read_file.hpp"
#include "specs/language/codes.hpp"
#include "specs/language/kind_rows.hpp"

namespace lockstep {
namespace {

constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t day = 86400 * second;
constexpr std::int64_t whole = 1'000'000;  // 100%, in parts per million
constexpr Limits share_limits{.most = whole, .range = "0% to 100%"};

constexpr Field approval_fields[] = {
    field<&Approvals::none>("none", "changes that nobody notices"),
    field<&Approvals::traffic>("traffic", "changes that disturb traffic"),
    field<&Approvals::reset>("reset", "changes that reset a device or NIC"),
    field<&Approvals::reboot>("reboot", "changes that need a reboot"),
};
constexpr Field capacity_fields[] = {
    field<&MinCapacity::host>("host", "share of hosts that is left", share_limits),
    field<&MinCapacity::leaf>("leaf", "share of the leaf tier that is left, for every pair", share_limits),
    field<&MinCapacity::spine>("spine", "share of the spine tier that is left, for every pair", share_limits),
    field<&MinCapacity::superspine>("superspine", "share of the superspine tier that is left, for every pair",
                                    share_limits),
};
constexpr Field window_fields[] = {
    field<&Window::days>("days", "such as Mon-Thu", {.otherwise = "every day"}),
    field<&Window::from>("from", "when it opens, such as \"09:00\"", {.required = true}),
    field<&Window::to>("to", "when it closes", {.required = true}),
    field<&Window::timezone>("timezone", "an IANA time zone", {.form = Form::filled, .otherwise = "UTC"}),
};
constexpr Field drain_fields[] = {
    field<&Drain::host>("host", "scheduler, or none", {.otherwise = "none"}),
    field<&Drain::switches>("switch", "bgp-graceful-shutdown (RFC 8326), or none", {.otherwise = "none"}),
    field<&Drain::timeout>("timeout", "how long a drain may take",
                           {.least = second, .most = 30 * day, .range = "1s to 30d", .otherwise = "20s"}),
    field<&Drain::on_timeout>("onTimeout", "skip the device, proceed with it, or stop the rollout",
                              {.otherwise = "skip"}),
};
constexpr Field rollout_fields[] = {
    field<&RolloutPolicy::selector>("selector", "the devices; {} is all", {.required = true}),
    field<&RolloutPolicy::unit>("unit", "redundancy-group: one member of a group at a time; or device",
                                {.otherwise = "redundancy-group"}),
    field<&RolloutPolicy::waves>("waves", "how many devices of each role, growing: \"1\", \"10%\", \"100%\"",
                                 {.not_empty = true, .otherwise = "one wave"}),
    field<&RolloutPolicy::gate>("gate",
                                "eachWave: what a wave wrote is measured before the next begins; "
                                "end: once, after the last wave",
                                {.otherwise = "eachWave"}),
    field<&RolloutPolicy::min_capacity>("minCapacity", "what is left at any moment, for every pair"),
    field<&RolloutPolicy::approval>("approval", "auto or manual, by disruption"),
    field<&RolloutPolicy::windows>("windows", "when a change may begin",
                                   {.not_empty = true, .otherwise = "at any time"}),
    field<&RolloutPolicy::drain>("drain", "how work is moved away first"),
    field<&RolloutPolicy::max_delete>("maxDelete", "a change that deletes a larger share needs confirmation",
                                      {.most = whole, .range = "0% to 100%", .otherwise = "100%"}),
};
constexpr Field signature_fields[] = {
    field<&Signatures::policy>("policy", "none or required", {.required = true}),
    field<&Signatures::keys>("keys", "files with the public keys that are accepted", {.form = Form::filled}),
};
constexpr Field git_fields[] = {
    field<&GitSource::repository>("repository", "URL or path of the repository",
                                  {.required = true, .form = Form::filled}),
    field<&GitSource::branch>("branch", "the branch", {.form = Form::filled}),
    field<&GitSource::path>("path", "the folder in it", {.form = Form::filled}),
    field<&GitSource::interval>("interval", "how often it is looked at",
                                {.least = second, .most = day, .range = "1s to 1d"}),
    field<&GitSource::signatures>("signatures", "whose signatures a commit needs"),
    field<&GitSource::credentials>("credentials", "the name of the secret to log in with"),
};
constexpr Field management_fields[] = {
    field<&Management::path>("path", "out-of-band or in-band"),
    field<&Management::interface>("interface", "the devices' interface that the reconciler reaches",
                                  {.form = Form::name, .otherwise = "none"}),
};
constexpr Field scheduler_fields[] = {
    field<&Scheduler::kind>("kind", "slurm, kubernetes or none", {.required = true}),
    field<&Scheduler::url>("url", "its API", {.form = Form::filled}),
    field<&Scheduler::credentials>("credentials", "the name of the secret to log in with"),
};
constexpr Field maintenance_fields[] = {
    field<&Maintenance::names>("names", "the devices, a hostlist",
                               {.required = true, .form = Form::hostlist}),
    field<&Maintenance::until>("until", "the last day", {.required = true}),
    field<&Maintenance::reason>("reason", "why", {.required = true, .form = Form::sentence}),
};
constexpr Field cost_fields[] = {
    field<&Cost::gpu_hour>("gpuHour", "what one GPU costs an hour", {.required = true}),
    field<&Cost::currency>("currency", "ISO 4217, such as USD", {.required = true}),
    field<&Cost::tokens_per_gpu_second>("tokensPerGpuSecond", "what one healthy GPU produces"),
};
constexpr Field cluster_fields[] = {
    field<&Cluster::management>("management", "how the reconciler reaches devices"),
    field<&Cluster::scheduler>("scheduler", "what places jobs"),
    field<&Cluster::maintenance>("maintenance", "no alerts, counted in the budgets"),
    field<&Cluster::cost>("cost", "what lost capacity costs"),
};

// A file as tzfile(5) describes it, but for those that are no zones of their own (date/tz.h, which computes
// with them, leaves them out as well).
bool is_timezone(const std::string& name) {
  constexpr std::size_t kFileMax = 65536;  // 20 times the largest of tzdata 2024
  if (name.starts_with("posix") || name.starts_with("right/") || name == "Factory" ||
      name.find("..") != name.npos)
    return false;
  const FileText file = read_beneath("/usr/share/zoneinfo", name, kFileMax);
  return file && file.text.starts_with("TZif");
}

// The interface must be a Linux interface, whatever else its switch runs.
void check_management(const Management& one, Span, Reporter& reporter) {
  if (one.interface.said)
    check_kernel_names({*one.interface},
                       {one.interface.at, static_cast<std::uint32_t>(one.interface->size())}, reporter);
}

void check_window(const Window& window, Span, Reporter& reporter) {
  if (window.from.said && window.to.said && *window.from == *window.to)
    reporter.error(code::fields_conflict, {window.to.at, 1},
                   "the window closes when it opens, at " + format(*window.to));
  if (window.timezone.said && !is_timezone(*window.timezone))
    reporter.error(code::unknown_word, {window.timezone.at, 1},
                   in_quotes(*window.timezone) + " is not a time zone that this machine knows",
                   "a name of the IANA database, such as Europe/Berlin");
}

void check_rollout(const RolloutPolicy& policy, Span, Reporter& reporter) {
  const Said<CountOrRatio>* before = nullptr;
  for (const auto& wave : policy.waves) {
    if (!wave.said) return;
    const bool zero = wave->share ? wave->ratio.parts_per_million == 0 : wave->count == 0;
    const bool over = wave->share && wave->ratio.parts_per_million > whole;
    const bool falls = before != nullptr && wave->share == (*before)->share && *wave <= **before;
    const bool back = before != nullptr && !wave->share && (*before)->share;
    if (zero || over || falls || back)
      reporter.error(code::rollout_incomplete, {wave.at, 1},
                     "wave " + format(*wave) +
                         (zero   ? " is nothing"
                          : over ? " is more than all"
                                 : " does not grow"),
                     "write counts first, then shares, each larger than the one before");
    before = &wave;
  }
  if (before != nullptr && **before != CountOrRatio{true, 0, Ratio{whole}})
    reporter.error(code::rollout_incomplete, {before->at, 1}, "the waves end at " + format(**before),
                   "the last wave is \"100%\"");
}

void check_signatures(const Signatures& one, Span span, Reporter& reporter) {
  if (one.policy.said && *one.policy == SignaturePolicy::required && one.keys.empty())
    reporter.error(code::missing_field, span, "signatures are required and no keys are named",
                   "write keys: [FILE]");
}

void check_cost(const Cost& cost, Span, Reporter& reporter) {
  const auto amount = [&reporter](const Said<Decimal>& one) {
    if (one.said && one->millionths < 0)
      reporter.error(code::out_of_range, {one.at, 1}, "'" + format(*one) + "' is negative");
  };
  amount(cost.gpu_hour);
  amount(cost.tokens_per_gpu_second);
  const std::string& currency = *cost.currency;
  const bool letters =
      currency.size() == 3 && currency.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") == std::string::npos;
  if (cost.currency.said && !letters)
    reporter.error(code::unknown_word, {cost.currency.at, 1}, in_quotes(currency) + " is not a currency",
                   "three letters of ISO 4217, such as USD");
}

}  // namespace

template <>
const Type& struct_type<Approvals>() {
  static constexpr Type type = object_type<Approvals>("approval", approval_fields, nullptr, "auto");
  return type;
}
template <>
const Type& struct_type<MinCapacity>() {
  static constexpr Type type = object_type<MinCapacity>("minCapacity", capacity_fields, nullptr, "0%");
  return type;
}
template <>
const Type& struct_type<Window>() {
  static constexpr Type type = object_type<Window>("a window", window_fields, checked<Window, check_window>);
  return type;
}
template <>
const Type& struct_type<Drain>() {
  static constexpr Type type = object_type<Drain>("drain", drain_fields);
  return type;
}
template <>
const Type& struct_type<RolloutPolicy>() {
  static constexpr Type type =
      object_type<RolloutPolicy>("a RolloutPolicy", rollout_fields, checked<RolloutPolicy, check_rollout>);
  return type;
}
template <>
const Type& struct_type<Signatures>() {
  static constexpr Type type =
      object_type<Signatures>("signatures", signature_fields, checked<Signatures, check_signatures>);
  return type;
}
template <>
const Type& struct_type<GitSource>() {
  static constexpr Type type = object_type<GitSource>("a GitSource", git_fields);
  return type;
}
template <>
const Type& struct_type<Management>() {
  static constexpr Type type =
      object_type<Management>("management", management_fields, checked<Management, check_management>);
  return type;
}
template <>
const Type& struct_type<Scheduler>() {
  static constexpr Type type = object_type<Scheduler>("scheduler", scheduler_fields);
  return type;
}
template <>
const Type& struct_type<Maintenance>() {
  static constexpr Type type = object_type<Maintenance>("maintenance", maintenance_fields);
  return type;
}
template <>
const Type& struct_type<Cost>() {
  static constexpr Type type = object_type<Cost>("cost", cost_fields, checked<Cost, check_cost>);
  return type;
}
template <>
const Type& struct_type<Cluster>() {
  static constexpr Type type = object_type<Cluster>("a Cluster", cluster_fields);
  return type;
}

}  // namespace lockstep
