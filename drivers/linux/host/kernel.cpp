// kernel/version, kernel/parameter[*] and kernel/module[*].
//
// The version is that of the running kernel. Parameters are those that it was booted with (/proc/cmdline;
// those after "--" are init's: Documentation/admin-guide/kernel-parameters.rst; '-' and '_' are equivalent in
// their names); one written module.parameter=value also counts if the loaded module has that value
// (/sys/module/*/parameters). Neither is written: a boot loader's configuration takes effect only once its
// own tool has processed it (update-grub and similar), and a module's options may be in an initramfs, so the
// next boot might not apply what was written. Modules are those that are loaded at boot by modules-load.d(5);
// ours are listed in a file of our own, which systemd-modules-load reads at the next boot.
#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "drivers/linux/host/map.hpp"

namespace lockstep {
namespace {

using host_map::kKernelModule;
using host_map::kKernelParameter;
using host_map::kKernelVersion;

constexpr std::string_view kOwnFile = "/etc/modules-load.d/60-lockstep.conf";
// In order of precedence: a file hides those of the same name in later folders (modules-load.d(5)).
constexpr std::string_view kFolders[] = {"/etc/modules-load.d", "/run/modules-load.d",
                                         "/usr/local/lib/modules-load.d", "/usr/lib/modules-load.d"};

constexpr std::string_view kByHand =
    "not on the command line of the kernel that runs; the boot loader's configuration is changed manually "
    "(GRUB_CMDLINE_LINUX, update-grub), and takes a reboot";

// The name of a module or parameter, up to '=', with '_' for '-'.
std::string normal_name(std::string_view text) {
  std::string out(text);
  std::replace(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(std::min(text.find('='), text.size())),
               '-', '_');
  return out;
}

// Blanks inside double quotes do not end a parameter (lib/cmdline.c, next_arg).
std::vector<std::string> parameters_of(std::string_view line) {
  std::vector<std::string> out(1);
  bool quoted = false;
  for (const char one : line) {
    if (one == '"') quoted = !quoted;
    if ((one == ' ' || one == '\n') && !quoted)
      out.emplace_back();
    else
      out.back() += one;
  }
  std::erase(out, "");
  out.erase(std::find(out.begin(), out.end(), "--"), out.end());
  return out;
}

std::set<std::string> modules_in(const std::string& text) {
  std::set<std::string> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::string_view name = trimmed(line);
    if (!name.empty() && name[0] != '#' && name[0] != ';') out.insert(normal_name(name));
  }
  return out;
}

bool is_module_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char one) {
    return (one >= '0' && one <= '9') || (one >= 'a' && one <= 'z') || (one >= 'A' && one <= 'Z') ||
           one == '_' || one == '-';
  });
}

bool is_true(std::string_view value) { return value == "1" || value == "Y" || value == "y"; }

class Kernel final : public HostSetting {
 public:
  explicit Kernel(HostFiles files) : files_(std::move(files)) {}

  std::vector<Incapable> incapable(const Scope& scope, const Call&) override {
    std::vector<Incapable> out;
    if (!files_.exists("/proc/modules"))
      out.push_back({kKernelModule, {}, "this kernel loads no modules (no /proc/modules)"});
    for (const std::string& asked : scope.names(kKernelParameter))
      out.push_back({kKernelParameter, {asked}, asked + " is " + std::string(kByHand), true});
    out.push_back({kKernelParameter, {}, std::string(kByHand), true});
    if (const auto version = files_.line("/proc/sys/kernel/osrelease"))
      out.push_back({kKernelVersion,
                     {},
                     "kernel " + *version + " runs; another is installed manually, and takes a reboot",
                     true});
    return out;
  }

  void read(HostReading& out, const Call&) override {
    const auto version = files_.line("/proc/sys/kernel/osrelease");
    if (version)
      out.add(kKernelVersion, Value::text(*version));
    else
      out.fails(kKernelVersion, version.error());
    read_parameters(out);
    if (!out.scope.wants(kKernelModule) || !files_.exists("/proc/modules")) return;
    const auto known = modules();
    if (!known) return out.fails(kKernelModule, known.error());
    std::set<std::string> listed;
    for (const auto& [module, file] : *known) listed.insert(module);
    report(out, kKernelModule, std::move(listed));
  }

  Result<Done> set(const Change& change, const Call&) override {
    const std::string module(change.path.key(0));
    if (!is_module_name(module))
      return Error{ErrorKind::invalid_spec, "'" + module + "' is not the name of a kernel module"};
    const auto text = files_.read(kOwnFile);
    if (!text && text.error().kind != ErrorKind::unsupported) return text.error();
    std::set<std::string> ours = text ? modules_in(*text) : std::set<std::string>();
    if (change.want)
      ours.insert(normal_name(module));
    else
      ours.erase(normal_name(module));
    TRY_DONE(write(ours));
    TRY(const auto now, modules());
    const auto at = now.find(normal_name(module));
    if (change.want && at == now.end())
      return Error{ErrorKind::refused, module + ": written, and another file of that name hides it"};
    if (!change.want && at != now.end())
      return Error{ErrorKind::refused, module + " is listed in " + at->second + ", which is not lockstep's"};
    return Done{};
  }

 private:
  // Reports each under the requested spelling, if there is one.
  void report(HostReading& out, RowId row, std::set<std::string> found) {
    for (const std::string& asked : out.scope.names(row))
      if (found.erase(normal_name(asked)) > 0) out.add(Path(row, {asked}), Value::present());
    for (const std::string& one : found) out.add(Path(row, {one}), Value::present());
  }

  void read_parameters(HostReading& out) {
    if (!out.scope.wants(kKernelParameter)) return;
    const auto line = files_.read("/proc/cmdline");
    if (!line) return out.fails(kKernelParameter, line.error());
    std::set<std::string> found;
    for (const std::string& one : parameters_of(*line)) found.insert(normal_name(one));
    for (const std::string& asked : out.scope.names(kKernelParameter))
      if (module_has(asked)) found.insert(normal_name(asked));
    report(out, kKernelParameter, std::move(found));
  }

  // "mlx5_core.prof_sel=2": the module is loaded and its parameter has that value.
  bool module_has(std::string_view parameter) const {
    const std::size_t dot = parameter.find('.');
    const std::size_t equals = parameter.find('=');
    if (dot == std::string_view::npos || equals == std::string_view::npos || equals < dot) return false;
    if (parameter.substr(0, equals).find('/') != std::string_view::npos) return false;
    const std::string module = normal_name(parameter.substr(0, dot));
    const std::string name(parameter.substr(dot + 1, equals - dot - 1));
    const auto value = files_.line("/sys/module/" + module + "/parameters/" + name);
    if (!value) return false;
    const std::string_view wanted = parameter.substr(equals + 1);
    return *value == wanted || (*value == "Y" && is_true(wanted)) || (*value == "N" && wanted == "0");
  }

  // Each module with the file that lists it.
  Result<std::map<std::string, std::string>> modules() const {
    std::map<std::string, std::string> out;
    std::set<std::string> seen;
    for (const std::string_view folder : kFolders)
      for (const std::string& name : files_.names(folder)) {
        if (!name.ends_with(".conf") || !seen.insert(name).second) continue;
        const std::string path = std::string(folder) + "/" + name;
        const auto text = files_.read(path);
        // Debian has a symbolic link there to /etc/modules, which may be missing.
        if (!text && text.error().kind == ErrorKind::unsupported) continue;
        if (!text) return text.error();
        for (const std::string& module : modules_in(*text)) out.emplace(module, path);
      }
    return out;
  }

  Result<Done> write(const std::set<std::string>& modules) {
    if (modules.empty()) return files_.remove(kOwnFile);
    std::string text = "# Written by lockstep: replaced whole.\n";
    for (const std::string& one : modules) text += one + "\n";
    return files_.replace(kOwnFile, text);
  }

  HostFiles files_;
};

}  // namespace

std::string module_words(const Change& change) {
  const std::string name = normal_name(change.path.key(0));
  return change.want ? "echo " + name + " >> " + std::string(kOwnFile)
                     : "sed -i /^" + name + "$/d " + std::string(kOwnFile);
}

OneSetting kernel_setting(const LinuxTarget& target, const SharedPci&) {
  return std::make_unique<Kernel>(HostFiles(target.root));
}

}  // namespace lockstep
