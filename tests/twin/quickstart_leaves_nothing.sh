#!/usr/bin/env bash
# The twin end to end: the whole quickstart passes (it checks every exit code itself) and leaves nothing behind; it is then
# interrupted at several points, and leaves nothing behind either. LOCKSTEP_BINARY: the program under test. Arguments are the
# quickstart's.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/needs.sh
needs_twin

remains() {
  ls /run/netns 2>/dev/null | grep '^ls-' || true
  ls -d /run/lockstep/twin/* 2>/dev/null || true
  ls -d /var/tmp/frr/* 2>/dev/null || true
  ls -d /tmp/lockstep-quickstart.* 2>/dev/null || true
  pgrep -af '/run/lockstep/twin/' || true
}
before=$(remains | sort)
nothing_new() {
  local new  # other twins may be removed meanwhile
  new=$(comm -13 <(echo "$before") <(remains | sort))
  [ -n "$new" ] || return 0
  echo "$1 left behind:" >&2
  echo "$new" >&2
  exit 1
}

examples/quickstart.sh "$@"
nothing_new "the quickstart"

# Interrupted as by Ctrl-C: the signal goes to the whole process group. A shell starts background jobs with SIGINT ignored
# (bash(1)), which a script can't reset; env does.
interrupted() {
  local log=$1 marker=$2 tour code=0
  shift 2
  setsid env --default-signal=INT examples/quickstart.sh "$@" >"$log" 2>&1 &
  tour=$!
  until grep -qF -- "\$ lockstep $marker" "$log"; do
    kill -0 "$tour" 2>/dev/null || { cat "$log" >&2; return 1; }
    read -rt 0.05 <> <(:) || true
  done
  kill -INT -- "-$tour"
  wait "$tour" || code=$?
  [ "$code" -eq 130 ] || { echo "interrupted at '$marker': exit code $code, not 130" >&2; return 1; }
}
logs=$(mktemp -d)
tours=()
for marker in 'twin up' 'apply --twin --yes --no-measure' 'bench --twin --accept'; do  # at once, as nothing is measured
  interrupted "$logs/${#tours[@]}" "$marker" "$@" &
  tours+=($!)
done
for tour in "${tours[@]}"; do wait "$tour"; done
rm -r "$logs"
nothing_new "an interrupt"
echo "3 interrupts and one whole tour left nothing behind"
