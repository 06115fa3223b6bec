#!/usr/bin/env bash
# `drift --twin` of rail-pod through agents, beside the same without agents, in turns, so that other load on the machine
# affects both: agents_drift.sh [ROUNDS]. Prints the median of each and their ratio; the goal is at most 3.
. "$(dirname "$0")/twin_of_perf.sh"
rounds=${1:-40}
copy_example rail-pod
with=$work/with-agents
cp -r "$specs" "$with"
both_down() {
  "$lockstep" twin down "$with" >/dev/null 2>&1 || true
  twin_down
}
trap both_down EXIT
bring_up
without=$specs
specs=$with
bring_up --agents
specs=$without
timed() {
  local begin
  begin=$(seconds)
  "$lockstep" drift --twin "$1" >/dev/null || { echo "drift of $1 is not in sync" >&2; exit 1; }
  awk "BEGIN {print 1000 * ($(seconds) - $begin)}" >>"$2"
}
for ((i = 0; i < rounds; ++i)); do
  timed "$without" "$work/without.ms"
  timed "$with" "$work/with.ms"
done
awk "BEGIN {printf \"median of %d: %.1f ms without agents, %.1f ms through agents, ratio %.2f\\n\", $rounds, $(median "$work/without.ms"), $(median "$work/with.ms"), $(median "$work/with.ms") / $(median "$work/without.ms")}"
