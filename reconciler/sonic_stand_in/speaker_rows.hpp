// BGP's rows → the lines that bgpd is told, as frrcfgd has them: pure.
//
// Tables of the default VRF, unnumbered neighbors and IPv4 unicast. As frrcfgd does it
// (sonic-net/sonic-buildimage, src/sonic-frr-mgmt-framework/frrcfgd/frrcfgd.py): a neighbor exchanges IPv4
// routes only if its BGP_NEIGHBOR_AF says admin_status up, because frrcfgd makes every speaker with `no bgp
// default ipv4-unicast`; rows count only beside a BGP_GLOBALS with local_asn. Other than frrcfgd, it takes
// RFC 8212's policy requirement away from each speaker, and follows a changed local_asn. Promises: what bgpd
// has already takes no line; what no row wants goes. A row whose words can't be words of one of FRR's lines
// is in `cannot`, and the others are carried.
#pragma once

#include <string>
#include <vector>

#include "drivers/frr/script.hpp"
#include "drivers/sonic/config_db.hpp"

namespace lockstep::sonic {

struct SpeakerLines {
  std::vector<frr::Step> steps;
  std::vector<std::string> resets;  // "clear bgp up0": after the steps, outside the configuration
};

// `have.bgp` must be there.
Result<SpeakerLines> speaker_lines(const ConfigDb& rows, const frr::State& have,
                                   std::vector<std::string>& cannot);
// Whether the rows want a BGP speaker.
bool wants_speaker(const ConfigDb& rows);

}  // namespace lockstep::sonic
