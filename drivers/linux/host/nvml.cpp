#include "drivers/linux/host/nvml.hpp"

#include <dlfcn.h>
#include <poll.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <functional>
#include <thread>

#include "drivers/linux/host/shares.hpp"
#include "drivers/posix/wait.hpp"
#include "drivers/posix/wake_descriptor.hpp"

namespace lockstep {
namespace {

// nvmlReturn_t.
constexpr int kSuccess = 0;
constexpr int kNotSupported = 3;
constexpr int kNoPermission = 4;
constexpr int kInsufficientSize = 7;
constexpr int kDriverNotLoaded = 9;
constexpr int kGpuIsLost = 15;
constexpr int kResetRequired = 16;

constexpr std::size_t kDriverRoom = 80;  // NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE
constexpr std::size_t kNameRoom = 96;    // NVML_DEVICE_NAME_V2_BUFFER_SIZE
constexpr std::size_t kVbiosRoom = 32;   // NVML_DEVICE_VBIOS_VERSION_BUFFER_SIZE
constexpr unsigned kGpusMax = 256;

using Device = void*;  // nvmlDevice_t
struct PciInfo {       // nvmlPciInfo_t
  char bus_id_legacy[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned pci_device_id;
  unsigned pci_subsystem_id;
  char bus_id[32];
};

// nvmlClocksEventReason*: those that indicate a fault. Idle, application clocks, the power cap, sync boost
// and display settings are normal.
struct ClockLimit {
  std::uint64_t bit;
  std::string_view words;
};
constexpr ClockLimit kClockLimits[] = {{0x8, "hardware slowdown"},
                                       {0x20, "thermal slowdown by software"},
                                       {0x40, "thermal slowdown by hardware"},
                                       {0x80, "power brake"}};

std::string sysfs_address(const PciInfo& info) {
  std::array<char, 32> room{};
  // NVML only knows whole devices: their function is 0.
  std::snprintf(room.data(), room.size(), "%04x:%02x:%02x.0", info.domain, info.bus, info.device);
  return room.data();
}

}  // namespace

std::string NvmlGpu::trouble() const {
  std::string out = lost;
  const auto add = [&out](std::string_view what) { out += (out.empty() ? "" : ", ") + std::string(what); };
  for (const ClockLimit& one : kClockLimits)
    if (clock_limits && (*clock_limits & one.bit) != 0) add(one.words);
  if (rows_failed) add("row remapping failed");
  if (reset_wanted) add("a remapped row waits for a reset");
  return out;
}

// The functions of one library. Loaded once and never unloaded: its threads may outlive a query.
class Nvml::Library {
 public:
  explicit Library(std::string name) : name_(std::move(name)) {}

  Result<Done> load();
  Result<NvmlState> read();
  Result<Done> set_persistence(bool on);
  Result<Done> set_ecc(bool on);

 private:
  struct Session {  // nvmlInit_v2 is reference-counted, and so is nvmlShutdown
    explicit Session(int (*end)()) : end_(end) {}
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    ~Session() { end_(); }
    int (*end_)();
  };

  template <class Function>
  bool find(Function& function, const char* symbol) {
    function = reinterpret_cast<Function>(::dlsym(handle_, symbol));
    return function != nullptr;
  }
  struct Found {
    Device device = nullptr;
    int code = kSuccess;  // why it has no handle
  };
  using Mode = std::function<std::optional<bool>(Device)>;  // none: the GPU has no such mode

  Error wrong(const std::string& what, int code) const;
  Result<std::vector<Found>> devices() const;
  NvmlGpu gpu(Device device) const;
  std::optional<bool> persistence(Device device) const;
  Result<Done> set_all(const std::string& what, int (*set)(Device, int), const Mode& get, bool on);

  std::string name_;
  void* handle_ = nullptr;
  int (*init_)() = nullptr;
  int (*shutdown_)() = nullptr;
  const char* (*error_string_)(int) = nullptr;
  int (*driver_version_)(char*, unsigned) = nullptr;
  int (*count_)(unsigned*) = nullptr;
  int (*handle_by_index_)(unsigned, Device*) = nullptr;
  int (*pci_info_)(Device, PciInfo*) = nullptr;
  int (*device_name_)(Device, char*, unsigned) = nullptr;
  int (*get_persistence_)(Device, int*) = nullptr;
  int (*set_persistence_)(Device, int) = nullptr;
  int (*get_ecc_)(Device, int*, int*) = nullptr;
  int (*set_ecc_)(Device, int) = nullptr;
  int (*vbios_)(Device, char*, unsigned) = nullptr;
  int (*clock_limits_)(Device, unsigned long long*) = nullptr;
  int (*compute_processes_)(Device, unsigned*, void*) = nullptr;
  int (*remapped_rows_)(Device, unsigned*, unsigned*, unsigned*, unsigned*) = nullptr;
};

Error Nvml::Library::wrong(const std::string& what, int code) const {
  const char* const words = error_string_(code);
  const ErrorKind kind = code == kNoPermission                               ? ErrorKind::denied
                         : code == kNotSupported || code == kDriverNotLoaded ? ErrorKind::unsupported
                                                                             : ErrorKind::refused;
  return Error{kind, "NVML: " + what + ": " + (words != nullptr ? words : std::to_string(code).c_str())};
}

Result<Done> Nvml::Library::load() {
  if (handle_ != nullptr) return Done{};
  handle_ = ::dlopen(name_.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) {
    const char* const why = ::dlerror();
    return Error{ErrorKind::unsupported, "NVML is not here: " + std::string(why != nullptr ? why : name_)};
  }
  std::string missing;
  const auto need = [&](auto& function, const char* symbol) {
    if (!find(function, symbol)) missing = symbol;
  };
  need(init_, "nvmlInit_v2");
  need(shutdown_, "nvmlShutdown");
  need(error_string_, "nvmlErrorString");
  need(driver_version_, "nvmlSystemGetDriverVersion");
  need(count_, "nvmlDeviceGetCount_v2");
  need(handle_by_index_, "nvmlDeviceGetHandleByIndex_v2");
  need(pci_info_, "nvmlDeviceGetPciInfo_v3");
  if (!missing.empty()) {
    handle_ = nullptr;
    return Error{ErrorKind::unsupported, name_ + " is no NVML that can be used: it has no " + missing};
  }
  find(device_name_, "nvmlDeviceGetName");
  find(get_persistence_, "nvmlDeviceGetPersistenceMode");
  find(set_persistence_, "nvmlDeviceSetPersistenceMode");
  find(get_ecc_, "nvmlDeviceGetEccMode");
  find(set_ecc_, "nvmlDeviceSetEccMode");
  find(vbios_, "nvmlDeviceGetVbiosVersion");
  // Named ThrottleReasons before driver 535.
  if (!find(clock_limits_, "nvmlDeviceGetCurrentClocksEventReasons"))
    find(clock_limits_, "nvmlDeviceGetCurrentClocksThrottleReasons");
  find(remapped_rows_, "nvmlDeviceGetRemappedRows");
  // Versions differ in the table that they fill, and no table is requested.
  for (const char* const symbol :
       {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2",
        "nvmlDeviceGetComputeRunningProcesses"})
    if (find(compute_processes_, symbol)) break;
  return Done{};
}

std::optional<bool> Nvml::Library::persistence(Device device) const {
  int on = 0;
  if (get_persistence_ == nullptr || get_persistence_(device, &on) != kSuccess) return std::nullopt;
  return on != 0;
}

NvmlGpu Nvml::Library::gpu(Device device) const {
  NvmlGpu out;
  PciInfo info{};
  if (const int code = pci_info_(device, &info); code != kSuccess) {
    out.lost = wrong("nvmlDeviceGetPciInfo", code).what;
    return out;
  }
  out.pci = sysfs_address(info);
  std::array<char, kNameRoom> name{};
  if (device_name_ != nullptr && device_name_(device, name.data(), name.size() - 1) == kSuccess)
    out.name = name.data();
  std::array<char, kVbiosRoom> vbios{};
  if (vbios_ != nullptr && vbios_(device, vbios.data(), vbios.size() - 1) == kSuccess)
    out.vbios = vbios.data();
  out.persistence = persistence(device);
  int now = 0;
  int pending = 0;
  const int ecc = get_ecc_ != nullptr ? get_ecc_(device, &now, &pending) : kNotSupported;
  if (ecc == kSuccess) {
    out.ecc = now != 0;
    out.ecc_after_reset = pending != 0;
  } else if (ecc == kGpuIsLost || ecc == kResetRequired) {
    out.lost = wrong("nvmlDeviceGetEccMode", ecc).what;
  }
  unsigned long long limits = 0;
  if (clock_limits_ != nullptr && clock_limits_(device, &limits) == kSuccess) out.clock_limits = limits;
  // Without room for a table it returns the number of processes.
  unsigned processes = 0;
  const int counted =
      compute_processes_ != nullptr ? compute_processes_(device, &processes, nullptr) : kNotSupported;
  if (counted == kSuccess || counted == kInsufficientSize) out.compute_processes = processes;
  unsigned corrected = 0, uncorrected = 0, waits = 0, failed = 0;
  if (remapped_rows_ != nullptr &&
      remapped_rows_(device, &corrected, &uncorrected, &waits, &failed) == kSuccess) {
    out.reset_wanted = waits != 0;
    out.rows_failed = failed != 0;
  }
  return out;
}

Result<std::vector<Nvml::Library::Found>> Nvml::Library::devices() const {
  unsigned count = 0;
  if (const int code = count_(&count); code != kSuccess) return wrong("nvmlDeviceGetCount", code);
  if (count > kGpusMax)
    return Error{ErrorKind::refused, "NVML: nvmlDeviceGetCount: says " + std::to_string(count)};
  std::vector<Found> out(count);
  // A GPU that fell off the bus is counted, but has no handle (NVML_ERROR_GPU_IS_LOST).
  for (unsigned i = 0; i < count; ++i) out[i].code = handle_by_index_(i, &out[i].device);
  return out;
}

Result<NvmlState> Nvml::Library::read() {
  TRY_DONE(load());
  if (const int code = init_(); code != kSuccess) return wrong("nvmlInit", code);
  const Session session(shutdown_);
  NvmlState out;
  std::array<char, kDriverRoom> driver{};
  if (const int code = driver_version_(driver.data(), driver.size() - 1); code != kSuccess)
    return wrong("nvmlSystemGetDriverVersion", code);
  out.driver = driver.data();
  TRY(const std::vector<Found> all, devices());
  for (const Found& one : all) {
    out.gpus.push_back(one.code == kSuccess ? gpu(one.device) : NvmlGpu());
    if (one.code != kSuccess) out.gpus.back().lost = wrong("nvmlDeviceGetHandleByIndex", one.code).what;
  }
  return out;
}

Result<Done> Nvml::Library::set_all(const std::string& what, int (*set)(Device, int), const Mode& get,
                                    bool on) {
  if (set == nullptr) return Error{ErrorKind::unsupported, "NVML: this version sets no " + what};
  if (const int code = init_(); code != kSuccess) return wrong("nvmlInit", code);
  const Session session(shutdown_);
  TRY(const std::vector<Found> all, devices());
  Shares shares;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].code != kSuccess) return wrong("nvmlDeviceGetHandleByIndex", all[i].code);
    const std::optional<bool> was = get(all[i].device);
    if (!was || *was == on) continue;
    const auto put = [&, device = all[i].device](bool wanted) -> Result<Done> {
      if (get(device) == wanted) return Done{};
      if (const int code = set(device, wanted ? 1 : 0); code != kSuccess) return wrong("set " + what, code);
      if (get(device) == wanted) return Done{};
      return Error{ErrorKind::refused, "NVML: set " + what + ": acknowledged, and did not take"};
    };
    shares.push_back({"GPU " + std::to_string(i), [put, on] { return put(on); },
                      [put, before = *was] { return put(before); }});
  }
  return lockstep::set_all(shares);
}

Result<Done> Nvml::Library::set_persistence(bool on) {
  TRY_DONE(load());
  return set_all(
      "persistence mode", set_persistence_, [this](Device one) { return persistence(one); }, on);
}

Result<Done> Nvml::Library::set_ecc(bool on) {
  TRY_DONE(load());
  const Mode after_reset = [this](Device device) -> std::optional<bool> {
    int now = 0;
    int pending = 0;
    if (get_ecc_ == nullptr || get_ecc_(device, &now, &pending) != kSuccess) return std::nullopt;
    return pending != 0;
  };
  return set_all("ECC mode", set_ecc_, after_reset, on);
}

// One query at a time, each on a thread of its own that may be abandoned.
struct Nvml::Lane {
  explicit Lane(std::string name) : library(std::move(name)) {}
  std::atomic<bool> busy{false};
  Library library;
};

Nvml::Nvml(const std::filesystem::path& root, const std::string& library) {
  // This machine's library does not report the GPUs of a recorded machine.
  const bool recorded = root != "/" && library.find('/') == std::string::npos;
  lane_ = std::make_shared<Lane>(recorded ? (root / "usr/lib" / library).string() : library);
}
Nvml::~Nvml() = default;

template <class T>
Result<T> Nvml::ask(Result<T> (*question)(Library&, bool), bool argument, bool changes, const Call& call) {
  if (lane_->busy.exchange(true))
    return Error{ErrorKind::transient, "NVML has not answered an earlier question yet"};
  struct Answer {
    WakeDescriptor ready;
    std::optional<Result<T>> result;
  };
  auto answer = std::make_shared<Answer>();
  if (!answer->ready) {
    lane_->busy = false;
    return Error{ErrorKind::transient, std::string("eventfd: ") + std::strerror(errno)};
  }
  try {
    std::thread([lane = lane_, answer, question, argument] {
      answer->result.emplace(question(lane->library, argument));
      lane->busy = false;
      answer->ready.signal();
    }).detach();
  } catch (const std::system_error& none) {
    lane_->busy = false;
    return Error{ErrorKind::transient,
                 std::string("NVML was not asked, for want of a thread: ") + none.what()};
  }
  const auto waited = wait_for(answer->ready.number(), POLLIN, call);
  if (!waited)
    return Error{changes ? ErrorKind::unknown_outcome : waited.error().kind,
                 "NVML did not answer: " + waited.error().what};
  if (!answer->ready.clear())
    return Error{ErrorKind::transient, std::string("eventfd: ") + std::strerror(errno)};
  return *std::move(answer->result);
}

Result<Done> Nvml::load(const Call& call) {
  return ask<Done>([](Library& library, bool) { return library.load(); }, false, false, call);
}

Result<NvmlState> Nvml::read(const Call& call) {
  return ask<NvmlState>([](Library& library, bool) { return library.read(); }, false, false, call);
}

Result<Done> Nvml::set_persistence(bool on, const Call& call) {
  return ask<Done>([](Library& library, bool wanted) { return library.set_persistence(wanted); }, on, true,
                   call);
}

Result<Done> Nvml::set_ecc(bool on, const Call& call) {
  return ask<Done>([](Library& library, bool wanted) { return library.set_ecc(wanted); }, on, true, call);
}

}  // namespace lockstep
