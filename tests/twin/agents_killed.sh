#!/usr/bin/env bash
# kill -9 of the controller, of agents or of both at random points of applies, and of some agents again as soon as they serve:
# what is armed is rolled back by the agent alone (in time, or at once after a restart of its machine), each device has all of
# the old values or all of the new ones, drift says which, and the next apply converges, forward or back. The oracles are
# sysctl(8) and FRR's vty. LOCKSTEP_KILLS=300 kills more often; the seed is printed, SEED=N repeats its choices.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/twin/pod.sh
rm -r "$pod"
cp -r tests/twin/two_hosts "$pod"
python3 -B tests/twin/agents_killed.py specs "$pod"
"$lockstep" twin up --agents --link-rate 100Mbps "$pod"
python3 -B tests/twin/agents_killed.py kill "$lockstep" "$pod" "$(own_twin)"
