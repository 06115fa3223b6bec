#include "drivers/linux/host/pci_config.hpp"

#include <endian.h>
#include <fcntl.h>
#include <linux/pci_regs.h>

#include <cerrno>
#include <cstring>

#include "drivers/linux/host/pci.hpp"

namespace lockstep {
namespace {

// As many entries as fit: each takes at least 4 bytes (drivers/pci/pci.c, PCI_FIND_CAP_TTL and
// pci_find_next_ext_capability).
constexpr int kCapabilitiesMax = 48;
constexpr int kExtendedMax = (PCI_CFG_SPACE_EXP_SIZE - PCI_CFG_SPACE_SIZE) / 8;
constexpr unsigned kReadRequestShift = 12;  // PCI_EXP_DEVCTL_READRQ is bits 14:12
constexpr std::uint32_t kSmallestRequest = 128;
constexpr std::uint16_t kStandardAcs = PCI_ACS_SV | PCI_ACS_RR | PCI_ACS_CR | PCI_ACS_UF;

}  // namespace

Result<PciConfig> PciConfig::open(const HostFiles& files, const std::string& address, bool writable) {
  const std::string path = pci_path(address) + "/config";
  Descriptor file(::open(files.at(path).c_str(), (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC));
  if (!file) {
    const int code = errno;
    const bool forbidden = code == EACCES || code == EPERM || code == EROFS;
    return Error{forbidden ? ErrorKind::denied : ErrorKind::refused, path + ": " + std::strerror(code)};
  }
  return PciConfig(address, std::move(file));
}

Error PciConfig::wrong(const std::string& what) const {
  return Error{ErrorKind::refused, address_ + ": " + what};
}

Result<std::uint16_t> PciConfig::word(unsigned offset) const {
  std::uint16_t raw = 0;
  const ssize_t got = ::pread(file_.number(), &raw, sizeof(raw), static_cast<off_t>(offset));
  if (got < 0) return wrong(std::string("configuration space: ") + std::strerror(errno));
  if (got != sizeof(raw))
    return Error{ErrorKind::denied, address_ + ": configuration space ends before byte " +
                                        std::to_string(offset) +
                                        ": all of it is shown to CAP_SYS_ADMIN only"};
  return le16toh(raw);
}

Result<Done> PciConfig::set_word(unsigned offset, std::uint16_t value) {
  const std::uint16_t raw = htole16(value);
  const ssize_t put = ::pwrite(file_.number(), &raw, sizeof(raw), static_cast<off_t>(offset));
  if (put == sizeof(raw)) return Done{};
  const int code = put < 0 ? errno : EIO;
  // A locked-down kernel denies writing here (kernel_lockdown(7)).
  return Error{code == EPERM || code == EACCES ? ErrorKind::denied : ErrorKind::refused,
               address_ + ": write to configuration space: " + std::strerror(code)};
}

Result<std::optional<unsigned>> PciConfig::capability(std::uint8_t id) const {
  TRY(const std::uint16_t vendor, word(PCI_VENDOR_ID));
  if (vendor == 0xFFFF) return wrong("reads as all ones: gone, or powered down");
  TRY(const std::uint16_t status, word(PCI_STATUS));
  if ((status & PCI_STATUS_CAP_LIST) == 0) return std::optional<unsigned>();
  TRY(const std::uint16_t head, word(PCI_CAPABILITY_LIST));
  unsigned at = head & 0xFC;
  for (int seen = 0; at >= PCI_STD_HEADER_SIZEOF; ++seen) {
    if (seen == kCapabilitiesMax) return wrong("its list of capabilities has no end");
    TRY(const std::uint16_t entry, word(at));
    if ((entry & 0xFF) == id) return std::optional<unsigned>(at);
    at = (entry >> 8) & 0xFC;
  }
  return std::optional<unsigned>();
}

Result<std::optional<unsigned>> PciConfig::extended_capability(std::uint16_t id) const {
  TRY(const std::optional<unsigned> express, capability(PCI_CAP_ID_EXP));
  if (!express) return std::optional<unsigned>();
  unsigned at = PCI_CFG_SPACE_SIZE;
  for (int seen = 0; at >= PCI_CFG_SPACE_SIZE; ++seen) {
    if (seen == kExtendedMax) return wrong("its list of extended capabilities has no end");
    TRY(const std::uint16_t its, word(at));
    TRY(const std::uint16_t next, word(at + 2));
    if (its == id) return std::optional<unsigned>(at);
    at = (next >> 4) & 0xFFC;  // PCI_EXT_CAP_NEXT: bits 31:20 of the header
  }
  return std::optional<unsigned>();
}

Result<std::optional<std::uint32_t>> PciConfig::max_read_request() const {
  TRY(const std::optional<unsigned> express, capability(PCI_CAP_ID_EXP));
  if (!express) return std::optional<std::uint32_t>();
  TRY(const std::uint16_t control, word(*express + PCI_EXP_DEVCTL));
  const unsigned code = (control & PCI_EXP_DEVCTL_READRQ) >> kReadRequestShift;
  if (code > 5) return wrong("MaxReadRequest code " + std::to_string(code) + " is reserved");
  return std::optional<std::uint32_t>(kSmallestRequest << code);
}

Result<Done> PciConfig::set_max_read_request(std::uint32_t bytes) {
  unsigned code = 0;
  while (code < 5 && kSmallestRequest << code != bytes) ++code;
  if (kSmallestRequest << code != bytes)
    return Error{ErrorKind::invalid_spec,
                 "MaxReadRequest is 128, 256, 512, 1024, 2048 or 4096, not " + std::to_string(bytes)};
  TRY(const std::optional<unsigned> express, capability(PCI_CAP_ID_EXP));
  if (!express) return Error{ErrorKind::unsupported, address_ + ": no PCI Express capability"};
  TRY(const std::uint16_t control, word(*express + PCI_EXP_DEVCTL));
  const auto wanted =
      static_cast<std::uint16_t>((control & ~PCI_EXP_DEVCTL_READRQ) | (code << kReadRequestShift));
  if (wanted != control) TRY_DONE(set_word(*express + PCI_EXP_DEVCTL, wanted));
  TRY(const auto now, max_read_request());
  if (now != bytes) return wrong("wrote MaxReadRequest " + std::to_string(bytes) + ", and it did not take");
  return Done{};
}

Result<std::optional<std::uint16_t>> PciConfig::access_control() const {
  TRY(const std::optional<unsigned> acs, extended_capability(PCI_EXT_CAP_ID_ACS));
  if (!acs) return std::optional<std::uint16_t>();
  TRY(const std::uint16_t control, word(*acs + PCI_ACS_CTRL));
  return std::optional<std::uint16_t>(control);
}

Result<Done> PciConfig::set_access_control(bool on) {
  TRY(const std::optional<unsigned> acs, extended_capability(PCI_EXT_CAP_ID_ACS));
  if (!acs) return Error{ErrorKind::unsupported, address_ + ": no ACS capability"};
  TRY(const std::uint16_t can, word(*acs + PCI_ACS_CAP));
  TRY(const std::uint16_t control, word(*acs + PCI_ACS_CTRL));
  return write_access_control(static_cast<std::uint16_t>(on ? control | (can & kStandardAcs) : 0));
}

Result<Done> PciConfig::write_access_control(std::uint16_t wanted) {
  TRY(const std::optional<unsigned> acs, extended_capability(PCI_EXT_CAP_ID_ACS));
  if (!acs) return Error{ErrorKind::unsupported, address_ + ": no ACS capability"};
  TRY(const std::uint16_t control, word(*acs + PCI_ACS_CTRL));
  if (wanted != control) TRY_DONE(set_word(*acs + PCI_ACS_CTRL, wanted));
  TRY(const std::uint16_t now, word(*acs + PCI_ACS_CTRL));
  if (now != wanted) return wrong("wrote its ACS control, and it did not take");
  return Done{};
}

}  // namespace lockstep
