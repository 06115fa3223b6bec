#!/usr/bin/env bash
# kill -9 at random points of an apply on a live twin, again and again: the next run always goes on from what is really
# there, and the last one ends with every device in sync. The seed of the delays is printed; SEED=N replays them.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/twin/pod.sh
SEED=${SEED:-$RANDOM}
RANDOM=$SEED
echo "SEED=$SEED"
"$lockstep" twin up "$pod"

told=0
for round in $(seq 12); do
  if [ $((round % 3)) -eq 0 ]; then  # a fabric that runs is hurt anew; else the bring-up itself is cut off
    "$lockstep" twin exec "$pod" gpu1 -- ip link set rail0 mtu 1500
    "$lockstep" twin exec "$pod" leaf0 -- ip link set up0 down
  fi
  "$lockstep" apply --twin --yes $approve --no-measure "$pod" >"$work/out" 2>&1 &
  apply=$!
  # The plan's summary is the last thing it says before it acts.
  until grep -q 'steps on' "$work/out" || ! kill -0 "$apply" 2>/dev/null; do read -rt 0.01 <> <(:) || true; done
  read -rt "0.$(printf '%03d' $((RANDOM % 250)))" <> <(:) || true
  kill -9 "$apply" 2>/dev/null || true
  wait "$apply" 2>/dev/null || true
  grep -q 'in flight' "$work/out" && told=$((told + 1))
done
# What the last killed run wrote may be in effect only later (LLDP, sessions): to the next run that was open before it,
# and is not waited for.
for try in $(seq 10); do
  "$lockstep" apply --twin --yes $approve --no-measure "$pod" || echo "try $try ended with $?"
  ! "$lockstep" drift --twin "$pod" || break
  read -rt 3 <> <(:) || true
done
"$lockstep" apply --twin --yes $approve --no-measure "$pod"
"$lockstep" drift --twin "$pod"
[ "$told" -gt 0 ] || { echo "no run was told of one that had been killed: the kills missed every apply" >&2; exit 1; }
echo "12 kills; $told runs were told what had been in flight; in sync at the end"
