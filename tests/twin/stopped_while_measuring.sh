#!/usr/bin/env bash
# A change of a run that is interrupted while it measures is not validated yet: the next apply measures it, even if nothing
# else is to be done, and keeps it or rolls it back. Once with kill -9 and a change that breaks an SLO, once with Ctrl-C and
# a change that does not.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/twin/pod.sh
sed -i 's/waves: .*/waves: ["100%"]/' "$pod/policy.yaml"  # otherwise the gate of the first wave would end the apply

# cut_off SIGNAL: interrupts an apply as soon as it measures its last wave. It prints progress only on a terminal.
cut_off() {
  local signal=$1 log=$work/terminal pid
  : >"$log"
  script -qefc "$lockstep apply --twin --yes $approve $pod" "$log" </dev/null >/dev/null 2>&1 &
  local terminal=$!
  until grep -q 'pairs [0-9]*/' < <(tr '\r' '\n' <"$log" | sed '1,/wave \([0-9]*\) of \1\b/d' | sed '1,/✓/d'); do
    kill -0 "$terminal" 2>/dev/null || { cat "$log"; echo "it ended before it measured" >&2; exit 1; }
    read -rt 0.01 <> <(:) || true
  done
  pid=$(pgrep -f "^$lockstep apply --twin --yes $approve $pod" | head -n 1)
  kill "-$signal" "$pid"
  wait "$terminal" || true
  cp "$log" "$work/out"
}

"$lockstep" twin up --link-rate 400Mbps "$pod"  # a rate that two busy cores can sustain
expect 0 "$lockstep" apply --twin --yes $approve --no-measure "$pod"

cp "$pod/fabric.yaml" "$work/fabric.before"
sed -i 's|^    - {from: "leaf\[0-1\]:up\[0-1\]".*|    - {from: "leaf[0-1]:up1", to: "spine1:down[0-1]", by: mesh, speed: 400Gbps, cableLength: 40m}\
    - {from: "leaf1:up0", to: "spine0:down1", by: pairs, speed: 400Gbps, cableLength: 40m}\
    - {from: "leaf0:up0", to: "spine0:down0", by: pairs, speed: 40Gbps, cableLength: 40m}|' "$pod/fabric.yaml"
cut_off KILL
expect 0 "$lockstep" drift --details --twin "$pod"
expect 2 "$lockstep" plan --details --twin "$pod"
told 'never measured'
expect 2 "$lockstep" apply --twin --yes $approve --strict "$pod"  # strict: on busy cores the verdict may be unknown
told 'in flight'
told 'rolled back'
cp "$work/fabric.before" "$pod/fabric.yaml"
expect 0 "$lockstep" drift --details --twin "$pod"
expect 0 "$lockstep" plan --details --twin "$pod"

sed -i 's/mtu: {host: 9000, fabric: 9216}/mtu: {host: 8000, fabric: 9216}/' "$pod/fabric.yaml"
cut_off INT
told 'the next apply measures'
# On busy cores the verdict may be unknown: the change then stays not validated.
for try in 1 2 3 4 5; do
  code=0
  "$lockstep" apply --twin --yes $approve "$pod" >"$work/out" 2>&1 || code=$?
  cat "$work/out"
  told 'never measured\|not validated yet'
  told 'kept'
  [ "$code" -eq 3 ] || break
done
[ "$code" -eq 0 ] || { echo "try $try ended with $code" >&2; exit 1; }
expect 0 "$lockstep" plan --details --twin "$pod"
echo "what a kill -9 and a Ctrl-C left unmeasured was measured by the next apply: undone, and kept"
