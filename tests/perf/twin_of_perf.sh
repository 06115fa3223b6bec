# Sourced by the measurements of twins: brings up a twin of a copy of one example, so that no other twin is
# touched, and removes it afterwards. LOCKSTEP_BINARY: the measured program (a release build).
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
lockstep=${LOCKSTEP_BINARY:-$root/build/release/bin/lockstep}
. "$root/tests/needs.sh"
needs_twin
[ -x "$lockstep" ] || { echo "$lockstep is not built" >&2; exit 1; }
work=$(mktemp -d /tmp/lockstep-perf.XXXXXX)
export LOCKSTEP_STATE_DIR=$work/state
twin_down() {
  trap '' INT TERM
  [ -n "${watcher:-}" ] && kill "$watcher" 2>/dev/null || true
  [ -n "${specs:-}" ] && "$lockstep" twin down "$specs" >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap twin_down EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

seconds() { date +%s.%N; }

# copy_example NAME: sets `specs`.
copy_example() {
  specs=$work/$1
  cp -r "$root/examples/$1" "$specs"
}

# bring_up [twin up's options...]: brings the twin up and converges it. Sets `prefix` (of the namespaces),
# up_seconds and apply_seconds.
bring_up() {
  local begin middle end
  begin=$(seconds)
  "$lockstep" twin up "$@" "$specs" >/dev/null
  middle=$(seconds)
  "$lockstep" apply --twin --yes --approve approval,drain --no-measure "$specs" >"$work/apply.log" 2>&1 || { cat "$work/apply.log" >&2; return 1; }
  end=$(seconds)
  up_seconds=$(awk "BEGIN {printf \"%.2f\", $middle - $begin}")
  apply_seconds=$(awk "BEGIN {printf \"%.2f\", $end - $middle}")
  prefix=ls-$("$lockstep" twin status -o json "$specs" | python3 -c 'import json, sys; print(json.load(sys.stdin)["id"])')
}

# median FILE: of a file with one number per line.
median() { sort -g "$1" | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }
largest() { sort -g "$1" | tail -1; }
smallest() { sort -g "$1" | head -1; }
