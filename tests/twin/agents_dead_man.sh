#!/usr/bin/env bash
# An agent rolls back by itself, within its time, what its controller can't settle: the controller is killed, or another hand
# cuts the management path of the hosts in six ways (port, address, filter, switch, route, rule) while their change is armed;
# and at once after its machine has restarted, what still has the values of the change. The
# oracles are ip(8), tc(8) and sysctl(8) in the devices' namespaces; once the path is back, apply converges.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/twin/pod.sh
command -v nft >/dev/null || not_tested_but_on_ci "nft is missing"
"$lockstep" twin up --agents --link-rate 100Mbps "$pod"
python3 -B tests/twin/agents_dead_man.py "$lockstep" "$pod" "$(own_twin)"
