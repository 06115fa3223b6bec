#!/usr/bin/env bash
# While the hosts' MTU is raised and lowered, and after a kill -9, no packet is lost that a host sends at the size that its
# routes allow. The oracles: pings of 8,000 bytes, which the kernel fragments to the MTU that it assumes for the next hop,
# and which a port with a smaller MTU drops; and `ping -M do`, which is never fragmented.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/twin/pod.sh
on() { "$lockstep" twin exec "$pod" "$@"; }
fail() { echo "line ${BASH_LINENO[0]}: $1" >&2; exit 1; }
apply() { expect "$1" "$lockstep" apply --twin --yes $approve --no-measure "${@:2}" "$pod"; }
hosts_at() { sed -i "s/mtu: {host: [0-9]*,/mtu: {host: $1,/" "$pod/fabric.yaml"; }
# The address of rail0 of each host.
address=([1]=10.64.0.1 [2]=10.64.0.3 [3]=10.64.0.5 [4]=10.64.0.7)
whole() { on "gpu$1" -- ping -c 1 -W 1 -M do -s "$3" -I "${address[$1]}" "${address[$2]}" >/dev/null 2>&1; }

hosts_at 1500
"$lockstep" twin up --link-rate 1Gbps "$pod"
twin=$(own_twin)
twin=${twin##*/}
apply 0

pings=()
stop_pings() {
  for pid in "${pings[@]}"; do kill -INT "$pid" 2>/dev/null || true; done
  pings=()
}
trap 'stop_pings; clean_up' EXIT
mkdir "$work/pings"
for from in 1 2 3 4; do
  for to in 1 2 3 4; do
    [ "$from" != "$to" ] || continue
    ip netns exec "ls-$twin-gpu$from" ping -q -i 0.005 -W 2 -M dont -s 8000 -I "${address[$from]}" "${address[$to]}" \
      >"$work/pings/$from-$to" 2>&1 &
    pings+=($!)
  done
done
# One ping without a source address, which the main table routes.
ip netns exec "ls-$twin-gpu1" ping -q -i 0.005 -W 2 -M dont -s 8000 "${address[3]}" >"$work/pings/1-3.main" 2>&1 &
pings+=($!)

# The change can't be applied to two of the four hosts alone, as the MTUs of the leaf switches' other ports would then differ
# from their hosts': nothing is written.
hosts_at 9000
apply 2 --only gpu1,gpu2,leaf0,leaf1
told 'nothing was written'

# A run that is killed once the first host has the larger MTU: that host still sends small packets. If the run ended before
# the signal came, it is tried again.
for try in 1 2 3 4 5; do
  exec 9< <(for i in 1 2 3 4; do exec ip -n "ls-$twin-gpu$i" monitor link & done; wait)
  monitors=$!
  "$lockstep" apply --twin --yes $approve --no-measure "$pod" >"$work/out" 2>&1 &
  killed=$!
  timeout 120 grep -q -m 1 'rail0.* mtu 9000' <&9 || fail "no host's MTU grew"
  kill -9 "$killed"
  pkill -P "$monitors" || true
  exec 9<&-
  wait "$killed" 2>/dev/null || true
  sleep 1  # long enough for packets to be lost
  "$lockstep" drift --details --twin "$pod" >"$work/out" || true
  ! grep -q 'route-mtu' "$work/out" || break
  hosts_at 1500
  apply 0
  hosts_at 9000
done
told 'route-mtu\[10.64.0.0/16\]'
larger=0
for from in 1 2 3 4; do
  ip -n "ls-$twin-gpu$from" link show rail0 >"$work/out"
  grep -q 'mtu 9000' "$work/out" || continue
  larger=$((larger + 1))
  on "gpu$from" -- ip route get "${address[$((from % 4 + 1))]}" from "${address[$from]}" >"$work/out"
  told 'mtu lock 1500'
done
[ "$larger" -gt 0 ] || fail "no host has the larger MTU"

# After a complete apply, each host receives and sends 9,000 bytes.
apply 0
for from in 1 2 3 4; do
  on "gpu$from" -- ip route show table all proto 76 >"$work/out"
  ! grep 'mtu' "$work/out" || fail "gpu$from's routes are locked still"
  for to in 1 2 3 4; do
    [ "$from" = "$to" ] || whole "$from" "$to" 8972 || fail "9,000 bytes from gpu$from do not reach gpu$to"
  done
done
expect 0 "$lockstep" drift --details --twin "$pod" >/dev/null

# All hosts back to the smaller MTU in one apply.
hosts_at 1500
apply 0
! whole 1 3 1473 || fail "gpu1 sends more than 1,500 bytes still"
expect 0 "$lockstep" drift --details --twin "$pod" >/dev/null

# A foreign MTU lock is drift, and an apply removes it.
on gpu1 -- ip route change default via 10.64.0.0 dev rail0 table 1000 proto 76 mtu lock 1000
expect 2 "$lockstep" drift --details --twin "$pod" >/dev/null
told 'mtu lock 1000 on 1 of [0-9]* routes'
apply 0
on gpu1 -- ip route show table 1000 >"$work/out"
! grep 'mtu' "$work/out" || fail "gpu1's routes are locked still"

running=("${pings[@]}")
stop_pings
for pid in "${running[@]}"; do wait "$pid" || true; done
for one in "$work"/pings/*; do
  sent=$(grep -o '^[0-9]* packets' "$one" | grep -o '[0-9]*') || fail "$one has no result"
  [ "$sent" -gt 100 ] || fail "only $sent packets in $one"
  # Packets in flight when ping stopped have no reply yet: up to 15 ms of them.
  received=$(grep -o '[0-9]* received' "$one" | grep -o '[0-9]*')
  [ "$received" -ge $((sent - 3)) ] || { cat "$one" >&2; fail "packets were lost: ${one##*/}"; }
done
echo "no packet was lost"
