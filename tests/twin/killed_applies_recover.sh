#!/usr/bin/env bash
# kill -9 at random points of repeated applies on a running twin: the next run always continues from the actual state, and
# after the last one every device is in sync. The seed of the delays is printed; SEED=N repeats them.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/twin/pod.sh
SEED=${SEED:-$RANDOM}
RANDOM=$SEED
echo "SEED=$SEED"
"$lockstep" twin up "$pod"

told=0
for round in $(seq 12); do
  if [ $((round % 3)) -eq 0 ]; then  # adds faults; otherwise the kill interrupts the first bring-up
    "$lockstep" twin exec "$pod" gpu1 -- ip link set rail0 mtu 1500
    "$lockstep" twin exec "$pod" leaf0 -- ip link set up0 down
  fi
  "$lockstep" apply --twin --yes $approve --no-measure "$pod" >"$work/out" 2>&1 &
  apply=$!
  # The plan's summary is the last output before the first write.
  until grep -q 'steps on' "$work/out" || ! kill -0 "$apply" 2>/dev/null; do read -rt 0.01 <> <(:) || true; done
  read -rt "0.$(printf '%03d' $((RANDOM % 250)))" <> <(:) || true
  kill -9 "$apply" 2>/dev/null || true
  wait "$apply" 2>/dev/null || true
  grep -q 'in flight' "$work/out" && told=$((told + 1))
done
# Writes of the last killed run may take effect only later (LLDP, sessions). The next run regards such effects as open before
# it, and does not wait for them.
for try in $(seq 10); do
  "$lockstep" apply --twin --yes $approve --no-measure "$pod" || echo "try $try ended with $?"
  ! "$lockstep" drift --details --twin "$pod" || break
  read -rt 3 <> <(:) || true
done
"$lockstep" apply --twin --yes $approve --no-measure "$pod"
"$lockstep" drift --details --twin "$pod"
[ "$told" -gt 0 ] || { echo "no run was told of one that had been killed: the kills missed every apply" >&2; exit 1; }
echo "12 kills; $told runs were told what had been in flight; in sync at the end"
