#!/usr/bin/env bash
# A service over a twin while something on its devices is changed manually each second, of many kinds and many at a time: each
# drift is reported once and its end once, of the right device and path, nothing else is reported, and no memory, descriptor or thread
# is lost. First it observes, then it heals. Environment: LOCKSTEP_SOAK_S, how long (180); SEED; both are printed.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/twin/pod.sh
command -v ethtool >/dev/null || not_tested_but_on_ci "offloads are changed with ethtool(8)"
changes_at_once
"$lockstep" twin up --link-rate 20Mbps "$pod"  # the rates that soak_drifts.py restores
expect 0 "$lockstep" apply --twin --yes --no-measure "$pod"
/usr/bin/python3 -B tests/twin/serve_soak.py "$lockstep" "$pod" "$work" "$(own_twin)"
