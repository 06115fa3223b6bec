#!/usr/bin/env bash
# kill -9 of the controller, of agents or of both at random points of applies, and of some agents again as soon as they serve: the
# next apply always converges; no agent keeps an armed transaction, and every device has what the specs say, by ip(8), sysctl(8)
# and FRR's vty. LOCKSTEP_KILLS=30 kills more often; the seed is printed, SEED=N repeats its choices.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/twin/pod.sh
"$lockstep" twin up --agents --link-rate 100Mbps "$pod"
python3 -B tests/twin/agents_killed.py "$lockstep" "$pod" "$(own_twin)"
