#!/usr/bin/env bash
# live.sh CACHE: a real Prometheus reads a real service over a twin until its alerts fire, all queries of the dashboard have answers,
# and a real Alertmanager is told by the service itself of a drift's begin and end. Environment: LOCKSTEP_BINARY.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/twin/pod.sh
. tests/monitoring/prometheus.sh
needs_prometheus "$1"
sed -i 's/  # mode: converge .*/  mode: converge/' "$pod/cluster.yaml"
changes_at_once
"$lockstep" twin up --link-rate 20Mbps "$pod"
/usr/bin/python3 -B tests/monitoring/live.py "$lockstep" "$pod" "$work" "$1"
