#!/usr/bin/env bash
# A plan lists the remedies for effects that a change can leave open. An apply runs a remedy once per device, only where it is
# needed, and no other remedy. A host without its connected routes converges in one apply.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/twin/pod.sh
in_sync() { expect 0 "$lockstep" drift --details --twin "$pod"; }
# eventually_drifts ENTRY: drift must report ENTRY within ten seconds.
eventually_drifts() {
  for _ in $(seq 50); do
    "$lockstep" drift --details --twin "$pod" >"$work/out" 2>&1 || true
    grep -qF "$1" "$work/out" && return
    sleep 0.2
  done
  cat "$work/out" && echo "drift never named $1" >&2 && exit 1
}

"$lockstep" twin up "$pod"
expect 0 "$lockstep" apply --twin --yes $approve --no-measure "$pod"
in_sync

echo "a link that comes up again: FRR may leave its groups on one path"
for _ in 1 2 3; do
  "$lockstep" twin exec "$pod" leaf0 -- ip link set up0 down
  eventually_drifts 'bgp/neighbor[up0]/session'
  expect 2 "$lockstep" plan --details --twin "$pod"
  told 'remedy reinstall-multipath, if'
  told 'and if needed'
  expect 0 "$lockstep" apply --twin --yes $approve --no-measure "$pod"
  told 'remedy reinstall-multipath  '
  told 'touched'
  in_sync
done

echo "what the chosen devices do not have is left alone"
expect 0 "$lockstep" twin break "$pod" lost-nexthop leaf0
eventually_drifts 'fib[10.64.0.128/25]'
expect 0 "$lockstep" apply --twin --yes $approve --no-measure --only gpu1 "$pod"
expect 2 "$lockstep" drift --details --twin "$pod"
told 'fib\[10.64.0.128/25\]'
expect 2 "$lockstep" plan --details --twin --out "$work/plan.json" "$pod"
expect 0 "$lockstep" apply --yes $approve --no-measure "$work/plan.json"
told 'carried out: frr remedy reinstall-multipath  leaf0'
told '1 device touched'
in_sync

echo "a host without its connected routes"
"$lockstep" twin exec "$pod" gpu1 -- ip route flush table main
expect 2 "$lockstep" drift --details --twin "$pod"
told 'fib\[10.64.0.0/31\]'
told 'rail0'
expect 2 "$lockstep" plan --details --twin "$pod"
told 'remedy restore-connected-route'
expect 0 "$lockstep" apply --twin --yes $approve --no-measure "$pod"
in_sync
"$lockstep" twin exec "$pod" gpu1 -- ip route show 10.64.0.0/31 | grep -q 'dev rail0 proto kernel scope link src 10.64.0.1' ||
  { echo "the route is not as the kernel makes it" >&2; exit 1; }
"$lockstep" twin exec "$pod" gpu1 -- ping -c 1 -W 2 10.64.0.0 >/dev/null
"$lockstep" twin exec "$pod" gpu1 -- ip address del 10.64.0.1/31 dev rail0
[ -z "$("$lockstep" twin exec "$pod" gpu1 -- ip route show 10.64.0.0/31)" ] || { echo "it outlives its address" >&2; exit 1; }
expect 0 "$lockstep" apply --twin --yes $approve --no-measure "$pod"
in_sync
