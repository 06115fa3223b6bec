#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "drivers/linux/ecn_marker.hpp"

// The object file that clang made from ecn_marker.bpf.c, embedded as bytes.
__asm__(
    ".pushsection .rodata\n"
    ".balign 16\n"
    ".global lockstep_ecn_marker_begin\n"
    ".global lockstep_ecn_marker_end\n"
    "lockstep_ecn_marker_begin:\n"
    ".incbin \"" LOCKSTEP_ECN_MARKER_OBJECT
    "\"\n"
    "lockstep_ecn_marker_end:\n"
    ".popsection\n");
extern "C" const unsigned char lockstep_ecn_marker_begin[];
extern "C" const unsigned char lockstep_ecn_marker_end[];

namespace lockstep {
namespace {

struct Close {
  void operator()(bpf_object* one) const { bpf_object__close(one); }
};

Error failed(const char* what, int code) {
  // Whatever the verifier or the loader is missing, this kernel does not support it; only a denial is
  // different.
  const bool denied = code == EPERM || code == EACCES;
  return Error{denied ? ErrorKind::denied : ErrorKind::unsupported,
               std::string("ECN marker: ") + what + ": " + std::strerror(code)};
}

Result<Descriptor> copy_of(int number) {
  Descriptor out(::fcntl(number, F_DUPFD_CLOEXEC, 0));
  if (!out) return failed("descriptor", errno);
  return out;
}

Result<Descriptor> load(std::uint64_t threshold) {
  // libbpf prints errors to stderr by default; a driver prints nothing.
  libbpf_set_print([](libbpf_print_level, const char*, va_list) { return 0; });
  bpf_object_open_opts options{};
  options.sz = sizeof(options);
  options.object_name = "lockstep_ecn";
  const auto size = static_cast<std::size_t>(lockstep_ecn_marker_end - lockstep_ecn_marker_begin);
  const std::unique_ptr<bpf_object, Close> object(
      bpf_object__open_mem(lockstep_ecn_marker_begin, size, &options));
  if (!object) return failed("open", errno);
  if (const int code = bpf_object__load(object.get()); code != 0) return failed("load", -code);
  const int map = bpf_object__find_map_fd_by_name(object.get(), "threshold");
  const bpf_program* program = bpf_object__find_program_by_name(object.get(), "mark");
  const std::uint32_t first = 0;
  if (map < 0 || program == nullptr) return failed("open", ENOENT);
  if (bpf_map_update_elem(map, &first, &threshold, BPF_ANY) != 0) return failed("threshold", errno);
  return copy_of(bpf_program__fd(program));
}

}  // namespace

Result<Descriptor> load_ecn_marker(std::uint64_t threshold) {
  // Loading parses the kernel's whole BTF (about 10 ms), and ports with the same threshold can share a
  // program.
  static std::mutex mutex;
  static std::map<std::uint64_t, Descriptor> loaded;
  const std::scoped_lock lock(mutex);
  auto known = loaded.find(threshold);
  if (known == loaded.end()) {
    TRY(Descriptor fresh, load(threshold));
    known = loaded.emplace(threshold, std::move(fresh)).first;
  }
  return copy_of(known->second.number());
}

}  // namespace lockstep
