// Completion errors as text, each with its usual cause.
//
// Promises: every status of libibverbs has its name, its meaning and its usual cause; an unknown one is shown
// by its number. Sources: ibv_poll_cq(3), IBA volume 1, 11.6.2, rdma-core's verbs.h.
#pragma once

#include <infiniband/verbs.h>

#include <string>

#include "bench/verbs/workload.hpp"

namespace lockstep::bench::verbs {

// "RETRY_EXC_ERR: the peer did not acknowledge: ..."
std::string describe(ibv_wc_status status);
// Where the fault usually is: the path (or the far end), or this program.
Trouble trouble_of(ibv_wc_status status);
Failure failure_of(const ibv_wc& completion, std::uint64_t completed);
Failure polling_failed();

}  // namespace lockstep::bench::verbs
