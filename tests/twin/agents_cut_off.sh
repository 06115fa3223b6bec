#!/usr/bin/env bash
# agents_dead_man.sh and agents_faults.sh at once, each on a twin of its own: both mostly wait for time to pass.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/needs.sh
needs_twin
tests/twin/agents_faults.sh > >(sed 's/^/faults: /') 2>&1 &
faults=$!
trap 'kill "$faults" 2>/dev/null || true; wait "$faults" || true' EXIT
have=0
tests/twin/agents_dead_man.sh || have=$?
trap - EXIT
wait "$faults" || have=$?
exit "$have"
