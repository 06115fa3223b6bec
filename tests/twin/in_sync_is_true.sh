#!/usr/bin/env bash
# On a converged twin, drift reports whatever stops traffic, with its culprit, and an apply removes it or reports that it
# requires manual action; drift does not report what leaves the pools' traffic unaffected. The oracle is a ping between hosts.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/twin/pod.sh

on() { "$lockstep" twin exec "$pod" "$@"; }
# arrives FROM ADDRESS: pings ADDRESS from gpu1; FROM is rail0 (10.64.0.1) or rail1 (10.64.0.129).
arrives() { on gpu1 -- ping -c 1 -W 2 -I "$1" "$2" >/dev/null; }
is_lost() {
  if arrives "$1" "$2"; then
    echo "what $1 sends to $2 arrives: the fault is none" >&2
    exit 1
  fi
}
await_sync() {
  for _ in $(seq 100); do
    if "$lockstep" drift --details --twin "$pod" >"$work/out" 2>&1; then return; fi
    read -rt 0.2 <> <(:) || true
  done
  cat "$work/out" >&2
  echo "not in sync again within 20 s" >&2
  exit 1
}
# drifts DEVICE TEXT: drift must report TEXT, the culprit, on DEVICE, and end with 2.
drifts() {
  expect 2 "$lockstep" drift --details --twin "$pod" >/dev/null
  grep -q "$1 .*$2" "$work/out" || { cat "$work/out" >&2; echo "drift does not name '$2' on $1" >&2; exit 1; }
}
apply() { expect "${1:-0}" "$lockstep" apply --twin --yes $approve --no-measure "$pod"; }

"$lockstep" twin up "$pod"
apply
await_sync
arrives 10.64.0.1 10.64.0.131

# Foreign routes inside owned blocks: on a spine switch, a leaf switch and a host, wider and narrower than the block.
on spine0 -- ip route add blackhole 10.64.0.128/26 proto static
on spine1 -- ip route add blackhole 10.64.0.128/26 proto static
is_lost 10.64.0.1 10.64.0.131
drifts spine0 'blackhole 10.64.0.128/26 proto static'
apply
arrives 10.64.0.1 10.64.0.131
await_sync

on leaf0 -- ip route add 10.64.0.128/25 via 10.64.0.5
is_lost 10.64.0.1 10.64.0.131
drifts leaf0 '10.64.0.128/25 via 10.64.0.5 dev swp3 proto boot'
apply
await_sync
arrives 10.64.0.1 10.64.0.131

on gpu1 -- ip route add blackhole 10.64.0.128/26 table 1000
is_lost 10.64.0.1 10.64.0.131
drifts gpu1 'blackhole 10.64.0.128/26 proto boot table 1000'
apply 0
told 'blackhole 10.64.0.128/26 proto boot table 1000'
on gpu1 -- ip route del blackhole 10.64.0.128/26 table 1000

# Routes with the right next hop but a hop limit of one: an owned route, and a foreign one.
on gpu1 -- ip route change default via 10.64.0.0 dev rail0 table 1000 proto 76 hoplimit 1
is_lost 10.64.0.1 10.64.0.131
drifts gpu1 'via 10.64.0.0 dev rail0 hoplimit 1'
apply
arrives 10.64.0.1 10.64.0.131
await_sync
on gpu1 -- ip route add 10.64.0.128/25 via 10.64.0.0 dev rail0 table 1000 hoplimit 1
is_lost 10.64.0.1 10.64.0.131
drifts gpu1 '10.64.0.128/25 via 10.64.0.0 dev rail0 proto boot hoplimit 1 table 1000'
on gpu1 -- ip route del 10.64.0.128/25 table 1000
await_sync
# An owned route that matches only RoCE's DSCP, and leads to the host's other rail.
on gpu1 -- ip route add default via 10.64.0.128 dev rail1 table 1000 proto 76 tos 0x68
drifts gpu1 'via 10.64.0.128 dev rail1 tos 0x68'
apply
await_sync

# A route that only claims to be from a routing daemon; and the removal of the route that the kernel makes with an address.
on leaf0 -- ip route add 10.64.0.128/26 via 10.64.0.5 proto bgp
is_lost 10.64.0.1 10.64.0.131
drifts leaf0 '10.64.0.128/26 via 10.64.0.5 dev swp3 proto bgp'
on leaf0 -- ip route del 10.64.0.128/26 via 10.64.0.5 proto bgp
on gpu2 -- ip route del local 10.64.0.131 dev rail1 table local
is_lost 10.64.0.1 10.64.0.131
drifts gpu2 'local 10.64.0.131/32 dev rail1 proto kernel table local is missing'
on gpu2 -- ip route add local 10.64.0.131 dev rail1 table local proto kernel scope host src 10.64.0.131
arrives 10.64.0.1 10.64.0.131
await_sync

# A policy rule before the owned ones, and one that matches only RoCE's packets.
on gpu1 -- ip rule add priority 50 to 10.64.0.128/25 prohibit
is_lost 10.64.0.1 10.64.0.131
drifts gpu1 'rule 50: from all to 10.64.0.128/25 prohibit'
on gpu1 -- ip rule del priority 50
on leaf0 -- ip rule add priority 50 ipproto udp dport 4791 blackhole
drifts leaf0 'rule 50: from all ipproto udp dport 4791 blackhole'
on leaf0 -- ip rule del priority 50

# A port that does not forward: only packets that arrive on it are lost.
on leaf0 -- sysctl -qw net.ipv4.conf.swp1.forwarding=0
is_lost 10.64.0.1 10.64.0.131
drifts leaf0 'net.ipv4.conf.swp1.forwarding'
apply
arrives 10.64.0.1 10.64.0.131

# A permanent neighbour entry, which ARP never corrects.
on leaf0 -- ip neigh replace 10.64.0.1 lladdr 02:00:00:00:00:99 dev swp1 nud permanent
is_lost 10.64.0.1 10.64.0.131
drifts leaf0 '10.64.0.1 at 02:00:00:00:00:99 on swp1'
on leaf0 -- ip neigh del 10.64.0.1 dev swp1
await_sync

# A host's address on a spine switch's loopback, a loopback address on two devices, and an address on an unmanaged interface.
on spine0 -- ip address add 10.64.0.131/32 dev lo
on spine1 -- ip address add 10.255.0.1/32 dev lo
drifts spine0 'interface\[lo\]/address\[10.64.0.131/32\]'
drifts spine1 'interface\[lo\]/address\[10.255.0.1/32\]'
apply
await_sync
on leaf0 -- ip link add stray0 type veth peer name stray1
on leaf0 -- ip address add 10.64.0.131/32 dev stray0
drifts leaf0 'address 10.64.0.131/32 on stray0'
on leaf0 -- ip link del stray0
await_sync

# A packet filter is a finding, not drift.
on leaf0 -- nft add table inet foreign '{ chain c { type filter hook forward priority 0; policy drop; }; }'
is_lost 10.64.0.1 10.64.0.131
expect 0 "$lockstep" drift --details --twin "$pod" >/dev/null
told 'nft inet foreign c (forward): policy drop'
on leaf0 -- nft delete table inet foreign

# What the specs allow is not drift, and no apply removes it, until its date has passed.
allow() {
  sed -i "s#^  roceProfile#  allow: [{route: blackhole 10.64.0.128/26 proto static, reason: a trial, until: $1}]\n  roceProfile#" \
    "$pod/fabric.yaml"
}
on spine0 -- ip route add blackhole 10.64.0.128/26 proto static
drifts spine0 'blackhole 10.64.0.128/26 proto static'
allow 2099-12-31
expect 0 "$lockstep" drift --details --twin "$pod" >/dev/null
told 'blackhole 10.64.0.128/26 proto static  (until 2099-12-31: a trial)'
apply
on spine0 -- ip route show type blackhole >"$work/out"
told 'blackhole 10.64.0.128/26'
sed -i 's#until: 2099-12-31#until: 2020-12-31#' "$pod/fabric.yaml"
drifts spine0 'blackhole 10.64.0.128/26 proto static'
told 'has ended'
apply
sed -i '/^  allow:/d' "$pod/fabric.yaml"
await_sync

# After the pool of loopbacks changes, the old loopback addresses are removed.
sed -i 's#loopbacks: 10.255.0.0/24#loopbacks: 10.254.0.0/24#' "$pod/fabric.yaml"
apply
await_sync
for device in leaf0 leaf1 spine0 spine1; do
  ! on "$device" -- ip -4 -o address show dev lo | grep -q '10\.255\.' || { echo "$device has its old loopback" >&2; exit 1; }
done

# Foreign configuration that does not affect the pools is not drift.
on leaf0 -- ip route add default via 10.64.0.1
on leaf0 -- ip rule add priority 90 fwmark 0x200/0xf00 lookup 2004
on leaf0 -- ip route add blackhole 10.64.0.128/26 table 2004
on gpu1 -- ip rule add priority 91 from 172.17.0.0/16 blackhole
on gpu1 -- ip route add 172.17.0.0/16 via 10.64.0.0 dev rail0
await_sync
arrives 10.64.0.1 10.64.0.131
echo "each culprit was named, and nothing else"
