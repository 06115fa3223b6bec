#!/usr/bin/env bash
# Every fault of an agent that `lockstep twin break` offers, each on a device of its own at the same time: drift names each
# device with its reason, and only these; apply writes to none of them; "off" ends each. The oracles are ip(8), tc(8), ps(1)'s
# source, openssl(1), and the time that a connection takes.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/twin/pod.sh
command -v openssl >/dev/null || not_tested_but_on_ci "openssl(1) is missing"
"$lockstep" twin up --agents --link-rate 100Mbps "$pod"
python3 -B tests/twin/agents_faults.py "$lockstep" "$pod" "$(own_twin)"
