// The configuration space of one PCI function through sysfs: its PCI Express and access control (ACS)
// registers.
//
// Registers by their names in linux/pci_regs.h, layout by PCI Express Base 7.5.3.4 (device control) and
// 7.7.11 (ACS extended capability). Reads and writes single words, as setpci(8) does: a device's other
// registers are neither read nor written. Promises: capability lists are walked with a bound, so that a
// device (or a file) with a malformed list yields an error. Refuses: a function that reads as all ones
// (removed, or powered down), and offsets past the end of the file: without CAP_SYS_ADMIN the kernel shows
// only the first 64 bytes (drivers/pci/pci-sysfs.c, pci_read_config).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "drivers/linux/host/files.hpp"
#include "specs/files/descriptor.hpp"
#include "specs/model/result.hpp"

namespace lockstep {

class PciConfig {
 public:
  static Result<PciConfig> open(const HostFiles& files, const std::string& address, bool writable = false);

  // PCI_EXP_DEVCTL_READRQ in bytes: 128 to 4096. None: no PCI Express capability.
  Result<std::optional<std::uint32_t>> max_read_request() const;
  Result<Done> set_max_read_request(std::uint32_t bytes);

  // PCI_ACS_CTRL. None: the function has no ACS capability.
  Result<std::optional<std::uint16_t>> access_control() const;
  // On: what Linux itself enables if an IOMMU isolates devices (drivers/pci/pci.c, pci_std_enable_acs), as
  // far as PCI_ACS_CAP supports it. Off: none of it.
  Result<Done> set_access_control(bool on);
  Result<Done> write_access_control(std::uint16_t control);

 private:
  PciConfig(std::string address, Descriptor file) : address_(std::move(address)), file_(std::move(file)) {}

  Error wrong(const std::string& what) const;
  Result<std::uint16_t> word(unsigned offset) const;
  Result<Done> set_word(unsigned offset, std::uint16_t value);
  Result<std::optional<unsigned>> capability(std::uint8_t id) const;
  Result<std::optional<unsigned>> extended_capability(std::uint16_t id) const;

  std::string address_;
  Descriptor file_;
};

}  // namespace lockstep
