#!/usr/bin/env bash
# The time until the twin of 64 hosts x 8 rails with 12 FRR switches is up, and then until it is converged:
# big_twin.sh [RUNS]
. "$(dirname "$0")/twin_of_perf.sh"
copy_example big-pod
for _ in $(seq "${1:-1}"); do
  bring_up --no-lldp
  echo "up in $up_seconds s, converged in $apply_seconds s more: $(tail -1 "$work/apply.log")"
  "$lockstep" drift --twin "$specs" | tail -1
  begin=$(seconds)
  "$lockstep" twin down "$specs" >/dev/null
  echo "down in $(awk "BEGIN {printf \"%.2f\", $(seconds) - $begin}") s"
done
