#include "drivers/linux/devlink/virtual_functions.hpp"

#include <charconv>

namespace lockstep::devlink {
namespace {

Result<std::uint32_t> number_in(const HostFiles& files, const std::string& path) {
  TRY(const std::string text, files.line(path));
  std::uint32_t out = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (code == std::errc() && end == text.data() + text.size()) return out;
  return Error{ErrorKind::transient, path + " holds no number: '" + text + "'"};
}

}  // namespace

VirtualFunctions::VirtualFunctions(HostFiles files, const std::string& bus, const std::string& device)
    : files_(std::move(files)), folder_("/sys/bus/" + bus + "/devices/" + device) {}

Result<std::uint32_t> VirtualFunctions::count() const { return number_in(files_, folder_ + "/sriov_numvfs"); }

Result<std::optional<std::uint32_t>> VirtualFunctions::most() const {
  const std::string path = folder_ + "/sriov_totalvfs";
  if (!files_.exists(path)) return std::optional<std::uint32_t>();
  TRY(const std::uint32_t out, number_in(files_, path));
  return std::optional(out);
}

Result<Done> VirtualFunctions::set(std::uint32_t wanted) const {
  TRY(const auto bound, most());
  if (bound && wanted > *bound)
    return Error{ErrorKind::refused, folder_ + ": " + std::to_string(wanted) +
                                         " virtual functions, of at most " + std::to_string(*bound) +
                                         " (sriov_totalvfs)"};
  TRY(const std::uint32_t have, count());
  if (have == wanted) return Done{};
  const std::string path = folder_ + "/sriov_numvfs";
  if (have != 0) TRY_DONE(files_.write(path, "0"));
  if (auto put = wanted == 0 ? Result<Done>(Done{}) : files_.write(path, std::to_string(wanted)); !put) {
    if (have == 0) return put;
    const auto back = files_.write(path, std::to_string(have));
    return Error{put.error().kind,
                 put.error().what + (back ? "; the " + std::to_string(have) + " that were there are put back"
                                          : "; the " + std::to_string(have) +
                                                " that were there are gone: " + back.error().what)};
  }
  TRY(const std::uint32_t now, count());
  if (now == wanted) return Done{};
  return Error{ErrorKind::refused,
               path + ": the device took " + std::to_string(wanted) + " and has " + std::to_string(now)};
}

}  // namespace lockstep::devlink
