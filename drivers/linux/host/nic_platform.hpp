// Which platform of specs/platforms a NIC is, by its PCI ids (pci.ids; for thor2: bnxt_pci_tbl in the
// kernel's bnxt.c).
//
// Where no ids of a platform are known, as of pollara-400, which pci.ids does not name, no NIC is of it.
#pragma once

#include <string_view>

#include "drivers/linux/host/pci.hpp"

namespace lockstep {

std::string_view nic_platform(const PciFunction& nic);  // empty: not known
bool has_pci_ids(std::string_view platform);

}  // namespace lockstep
