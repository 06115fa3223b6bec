// `lockstep host-policy`: what specs may do to this machine.
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "reconciler/cli/commands.hpp"
#include "reconciler/report/host_policy_report.hpp"
#include "specs/files/read_file.hpp"
#include "specs/files/replace_file.hpp"
#include "specs/language/text_file.hpp"

namespace lockstep {
namespace {

constexpr mode_t kFolderMode = 0755;  // every user may read what specs may do
constexpr mode_t kFileMode = 0644;

Result<Done> write_first(const std::string& file) {
  std::error_code unknown;
  if (std::filesystem::exists(std::filesystem::symlink_status(file, unknown)))
    return Error{ErrorKind::refused, file + " is there already: edit it, then `lockstep host-policy check`"};
  const std::string folder = std::filesystem::path(file).parent_path().string();
  if (::mkdir(folder.c_str(), kFolderMode) != 0 && errno != EEXIST)
    return Error{ErrorKind::denied, folder + ": " + std::strerror(errno)};
  return replace_file(file, host_policy_template(this_host()), {.mode = kFileMode});
}

}  // namespace

int run_host_policy_init(const Console& console) {
  if (const Result<Done> written = write_first(kHostPolicyFile); !written)
    return console.fail(written.error());
  if (console.is_text())
    console.print(std::string("wrote ") + kHostPolicyFile +
                  ": edit it, then `lockstep host-policy check` and `explain`\n");
  else
    console.print_document({{"kind", "HostPolicyFile"}, {"file", kHostPolicyFile}});
  return kExitInSync;
}

// A file given by name may be anyone's draft; the machine's own policy must also be writable by root only.
int run_host_policy_check(const std::string& named, const Console& console) {
  const std::string file = named.empty() ? kHostPolicyFile : named;
  Sources sources;
  Diagnostics wrong;
  if (named.empty()) {
    const HostPolicy policy = HostPolicy::read(file, this_host());
    if (policy.is_default()) {
      console.note(file + " is not there: the default holds (`lockstep host-policy explain`)");
      return kExitInSync;
    }
    if (!policy.broken().empty() && !policy.broken().starts_with(file + ":"))
      return console.fail(Error{ErrorKind::denied, policy.broken()});
  }
  FileText read = read_named(file, file_size_limit);
  if (!read) return console.fail(Error{ErrorKind::refused, file + ": " + read.why});
  (void)HostPolicy::from_text(file, std::move(read.text), this_host(), sources, wrong);
  if (has_errors(wrong)) return console.fail(sources, wrong);
  console.warn(sources, wrong);
  if (console.is_text()) console.print(file + ": nothing is wrong with it\n");
  return kExitInSync;
}

int run_host_policy_explain(const std::string& setting, const Console& console) {
  const HostPolicy policy = HostPolicy::read(kHostPolicyFile, this_host());
  if (setting.empty()) {
    if (console.is_text())
      console.print(host_policy_text(policy, console.out()));
    else
      console.print_document(host_policy_json(policy));
    return policy.broken().empty() ? kExitInSync : kExitError;
  }
  const Result<Path> path = Path::parse(setting);
  if (!path) return console.fail_usage(path.error().text());
  const WhyRefused why = policy.why_not({*path, {}, {}, 0});
  if (console.is_text())
    console.print(permission_text(*path, why, console.out()));
  else
    console.print_document(permission_json(*path, why));
  return why ? kExitDifferent : kExitInSync;
}

}  // namespace lockstep
