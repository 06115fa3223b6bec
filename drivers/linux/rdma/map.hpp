// The map between entries and RoCE's settings: the one place of this folder that names rows.
#pragma once

#include <string>

#include "drivers/linux/rdma/settings.hpp"
#include "drivers/mapped/map_table.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep::rdma_map {

struct MapRow {
  RowId row;
  // Why a RoCE port can't carry it; empty: it can.
  std::string (*lacking)(const HostFiles&, const rdma::RocePort&);
  Result<Value> (*read)(const HostFiles&, const rdma::RocePort&);
  Result<Done> (*write)(const Change&, const HostFiles&, const rdma::RocePort&);
  // In words of MLNX_OFED's tools and files: those of other drivers are elsewhere (settings.hpp).
  std::string (*native)(const Change&);
};

std::string cnp_words(const Change& change);
std::string control_words(const Change& change);
std::string tos_words(const Change& change);

inline constexpr MapRow kRows[] = {
    {row("interface[*]/cnp-dscp"), rdma::why_no_cnp, rdma::read_cnp, rdma::write_cnp, cnp_words},
    {row("interface[*]/congestion-control"), rdma::why_no_control, rdma::read_control, rdma::write_control,
     control_words},
    {row("interface[*]/roce-tos"), rdma::why_no_tos, rdma::read_tos, rdma::write_tos, tos_words},
};
static_assert(has_each_row_once(kRows));

// Why the port can't carry the row; empty: it can.
std::string lacking(const MapRow& one, const HostFiles& files, const rdma::RocePort& port);

}  // namespace lockstep::rdma_map
