// LS130: ECN thresholds give senders a useful signal.
//
// A threshold below one packet marks when nothing is queued, and senders slow down on an empty link; a
// threshold that never marks gives no signal.
#include <algorithm>
#include <map>

#include "specs/fabric/proof_context.hpp"

namespace lockstep {
namespace {

void prove_thresholds(const ProofContext& context, const TrafficClass& one, const Said<Ecn>& ecn,
                      std::uint64_t frame) {
  if (!ecn.said || ecn->automatic) return;
  if (ecn->pmax.said && ecn->pmax->parts_per_million == 0)
    context.error("LS130", ecn->pmax.at, "ECN of class " + *one.name + " marks nothing: pmax is 0%",
                  "vendors have from 1% to 100%; or leave ecn out");
  if (ecn->kmin.said && ecn->kmin->bytes < frame)
    context.error("LS130", ecn->kmin.at,
                  "ECN of class " + *one.name + " begins to mark at " + format(*ecn->kmin) +
                      ", less than RoCE's largest packet here (" + about(frame) +
                      ", with all headers): senders slow down where nothing waits",
                  "the lowest that is published is 5KB, at 40Gbps (Zhu et al., SIGCOMM 2015); or write "
                  "ecn: auto");
}

}  // namespace

void prove_ecn(const ProofContext& context) {
  std::map<const RoceProfile*, std::uint64_t> frames;  // the largest in its fabrics
  for (FabricIndex fabric = 0; fabric < context.profiles.size(); ++fabric)
    if (const RoceProfile* const profile = context.profiles[fabric]) {
      std::uint64_t& frame = frames[profile];
      frame = std::max(frame, roce_frame(*context.catalog.fabrics[fabric].mtu->host));
    }
  for (const auto& [profile, frame] : frames)
    for (const TrafficClass& one : profile->classes)
      for (const Said<Ecn>* const ecn : {&one.ecn, &one.ecn_on_spines})
        prove_thresholds(context, one, *ecn, frame);
}

}  // namespace lockstep
