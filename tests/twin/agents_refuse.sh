#!/usr/bin/env bash
# What an agent refuses, and then writes nothing: writes while it is on hold, those of an older controller that was stopped past
# a newer one's changes, and those of credentials that are another authority's, a reader's, revoked, expired, or another
# device's. The oracles are ip(8), tc(8) and sysctl(8) in the devices' namespaces. Once each is lifted, apply converges.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/twin/pod.sh
command -v openssl >/dev/null || not_tested_but_on_ci "openssl(1) is missing"
"$lockstep" twin up --agents --link-rate 100Mbps "$pod"
python3 -B tests/twin/agents_refuse.py "$lockstep" "$pod" "$(own_twin)"
