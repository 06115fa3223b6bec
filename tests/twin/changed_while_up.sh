#!/usr/bin/env bash
# Changes a running twin: hosts, leaf switches, spine switches, rails and cables are removed from and added to its specs.
# What stays must keep its processes, interfaces, numbers and traffic. The oracles are ip(8), /proc, ping and vtysh, never
# lockstep itself. Guards against: removing a leaf switch renumbers the spine switches, an edit needs the twin down and up,
# and every command needs `--link-rate`.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/twin/pod.sh
in_device() { "$lockstep" twin exec "$pod" "$@"; }
fail() { echo "line ${BASH_LINENO[0]}: $1" >&2; exit 1; }
untold() { ! grep -q "$1" "$work/out" || fail "somebody said '$1'"; }

# Writes the specs of a pod with these hosts, leaf switches, spine switches and rails. Leaf switch r serves rail r; every
# leaf switch has a link to every spine switch.
shape() {
  local hosts=$1 leaves=$2 spines=$3 rails=$4 ports=$5 ups=$6 downs=$7
  sed -e "s/names: gpu\[1-4\]/names: $hosts/; s/names: leaf\[0-1\]/names: $leaves/; s/names: spine\[0-1\]/names: $spines/" \
    -e "s/rail\[0-1\]/$rails/" examples/rail-pod/devices.yaml >"$pod/devices.yaml"
  sed -e "s/gpu\[1-4\]:rail\[0-1\]/$hosts:$rails/; s/leaf\[0-1\]:swp\[1-4\]/$leaves:$ports/" \
    -e "s/leaf\[0-1\]:up\[0-1\]/$leaves:$ups/; s/spine\[0-1\]:down\[0-1\]/$spines:$downs/" \
    examples/rail-pod/fabric.yaml >"$pod/fabric.yaml"
}
router_id() { in_device "$1" vtysh -c 'show ip bgp summary' | awk '/BGP router identifier/ {print $4}' | tr -d ,; }
# Directly in its namespace, because `lockstep twin exec` reads the specs first.
in_netns() { ip netns exec "ls-$twin-$1" "${@:2}"; }
addresses() { in_netns "$1" ip -4 -o address show dev "$2" | awk '{print $4}'; }
index() { in_netns "$1" cat "/sys/class/net/$2/ifindex"; }
twin=$({ "$lockstep" twin status "$pod" 2>&1 || true; } | grep -o 'railpod[0-9a-f]*' | head -n 1)
[ -n "$twin" ] || fail "nobody named the twin"
run_dir=/run/lockstep/twin/$twin
processes() { pgrep -f "$run_dir/" | sort -n || true; }
daemons_of() { pgrep -f "$run_dir/$1/" | sort -n || true; }
shaped_to() {
  in_device gpu1 tc class show dev rail0 >"$work/out"
  cat "$work/out"
  told "rate $1 "
}
has_namespace() { [ -n "$(namespaces | grep -- "$1")" ]; }
namespaces() { ip netns list | grep -o "^ls-$twin-[^ ]*" | sort; }

# A twin starts with the numbers of the folder's allocations.lock.
cat >"$pod/allocations.lock" <<JSON
{"version": 1, "pools": {"Fabric/backend loopback": {"spine1": 77}}}
JSON
cp "$pod/allocations.lock" "$work/lock.before"

expect 0 "$lockstep" twin up --link-rate 400Gbps "$pod"
expect 0 "$lockstep" apply --twin --yes $approve --no-measure "$pod"
[ "$(addresses spine1 lo | grep -v '^127')" = 10.255.0.77/32 ] || fail "spine1 has another number than the folder's"
[ "$(router_id spine1)" = 10.255.0.77 ] || fail "spine1 has another router id than the folder's"

# No TCP flow fills such a link on today's machines: the report says what would help.
expect '2 3' "$lockstep" bench --twin --only pairs "$pod"
told "this machine's CPUs limited some of the twin's traffic, not its links of 400Gbps: .lockstep twin up --link-rate 200Gbps"

# Every command uses the link rate of the twin, and only `twin up` changes it.
shaped_to 400Gbit
expect 0 "$lockstep" plan --details --twin "$pod"
expect 0 "$lockstep" plan --details --twin --link-rate 400000Mbps "$pod"
expect 1 "$lockstep" plan --details --twin --link-rate 1Gbps "$pod"
told '400Gbps.*1Gbps.*twin up --link-rate 1Gbps'
expect 0 "$lockstep" twin up --link-rate 1Gbps "$pod"
told 'carry 1Gbps, and was to carry 400Gbps'
expect 2 "$lockstep" plan --details --twin "$pod"
expect 0 "$lockstep" apply --twin --yes $approve --no-measure "$pod"
shaped_to 1Gbit

kept_numbers() {
  for device in spine0 spine1 leaf1; do router_id $device; done
  for host in gpu1 gpu2 gpu3 gpu4; do addresses $host rail1; done
}
kept_things() {
  for device in gpu1 leaf1 spine0 spine1; do daemons_of $device; done
  index gpu1 rail1
  index leaf1 swp1
  index spine0 down1
}
numbers=$(kept_numbers)
things=$(kept_things)
leaf0=$(router_id leaf0)
pings=$work/pings
# A shell starts background jobs with SIGINT ignored; env restores the default.
to=$(addresses gpu2 rail1 | cut -d / -f 1)
env --default-signal=INT "$lockstep" twin exec "$pod" gpu1 ping -q -i 0.02 -w 600 "$to" >"$pings" 2>&1 &
pinging=$!

# 1. A leaf switch and its rail are removed: no number of what stays changes, in the plan or in the kernel.
shape 'gpu[1-4]' leaf1 'spine[0-1]' rail1 'swp[1-4]' 'up[0-1]' down1
expect 2 "$lockstep" plan --details --twin "$pod"
untold 'router-id\|interface\[rail1\]/address\|interface\[lo\]/address'
expect 2 "$lockstep" plan --details --twin --renumber "$pod"
told 'router-id'
expect 2 "$lockstep" twin status "$pod"
told 'running, not asked for: switch leaf0'
ip netns exec "ls-$twin-leaf0" true
gone=$(daemons_of leaf0)
[ -n "$gone" ] || fail "leaf0 has no daemons"
expect 0 "$lockstep" twin up "$pod"
told 'removed switch leaf0'
untold 'added'
! has_namespace leaf0 || fail "leaf0 has a namespace"
for pid in $gone; do [ ! -d "/proc/$pid" ] || fail "a daemon of leaf0 runs"; done
[ ! -e "$run_dir/leaf0" ] || fail "leaf0 has files"
! in_netns gpu1 ip link show rail0 >/dev/null 2>&1 || fail "gpu1 has rail0"
[ "$(kept_things)" = "$things" ] || fail "what stays was touched"
expect 0 "$lockstep" twin up "$pod"
told 'nothing to do'
expect 0 "$lockstep" apply --twin --yes $approve --no-measure --confirm-deletion "$pod"
[ "$(kept_numbers)" = "$numbers" ] || fail "numbers moved"
expect 0 "$lockstep" plan --details --twin "$pod"

# 2. The leaf switch is added again, with a new host and a new spine switch: commands report what the twin lacks, and the
# command that adds it.
shape 'gpu[1-5]' 'leaf[0-1]' 'spine[0-2]' 'rail[0-1]' 'swp[1-5]' 'up[0-2]' 'down[0-1]'
for command in 'plan --twin' 'drift --twin' 'apply --twin --yes' 'bench --twin' 'discover --twin'; do
  expect 1 "$lockstep" $command "$pod"
  told "lacks what its specs have (gpu5,leaf0,spine2 and 10 cables.*\`lockstep twin up $pod\`"
done
expect 1 in_device gpu5 true
told 'lockstep twin up'
# `twin up` is refused while another command changes the twin.
exec {other}>>"$LOCKSTEP_STATE_DIR/$twin-twin/lock"
flock "$other"
expect 1 "$lockstep" twin up "$pod"
told 'the twin is not changed'
exec {other}>&-
expect 0 "$lockstep" twin up "$pod"
told 'added host gpu5'
told 'added switch leaf0 (routing)'
told 'added switch spine2 (routing)'
[ "$(kept_things)" = "$things" ] || fail "what stays was touched"
expect 0 "$lockstep" apply --twin --yes $approve --no-measure "$pod"
[ "$(kept_numbers)" = "$numbers" ] || fail "numbers moved"
[ "$(router_id leaf0)" = "$leaf0" ] || fail "leaf0 is back with another router id"
in_device gpu5 ping -q -c 1 -W 5 "$(addresses gpu1 rail0 | cut -d / -f 1)"

# 3. A rail is added and a cable is removed; new cables are reported.
shape 'gpu[1-5]' 'leaf[0-2]' 'spine[0-2]' 'rail[0-2]' 'swp[1-5]' 'up[0-2]' 'down[0-2]'
expect 0 "$lockstep" twin up "$pod"
told 'added switch leaf2 (routing)'
told 'added cable gpu1:rail2 -- leaf2:swp1'
expect 0 "$lockstep" apply --twin --yes $approve --no-measure "$pod"
in_device gpu5 ping -q -c 1 -W 5 "$(addresses gpu1 rail2 | cut -d / -f 1)"
cp "$pod/fabric.yaml" "$work/fabric.whole"
sed -i 's|^    - {from: "leaf\[0-2\]:up\[0-2\]".*|    - {from: "leaf[0-1]:up[0-2]", to: "spine[0-2]:down[0-1]", by: mesh, speed: 400Gbps, cableLength: 40m}\
    - {from: "leaf2:up[0-1]", to: "spine[0-1]:down2", by: mesh, speed: 400Gbps, cableLength: 40m}|' "$pod/fabric.yaml"
expect 0 "$lockstep" twin up "$pod"
told 'removed cable leaf2:up2 -- spine2:down2'
[ "$(grep -c 'removed \|added ' "$work/out")" -eq 1 ] || fail "more than a cable went"
cp "$work/fabric.whole" "$pod/fabric.yaml"
expect 1 "$lockstep" plan --details --twin "$pod"
told 'lacks what its specs have (cable leaf2:up2 -- spine2:down2)'
expect 0 "$lockstep" twin up "$pod"

# 4. `twin up` is interrupted by Ctrl-C, and the next one continues.
hosts_to() { shape "gpu[1-$1]" 'leaf[0-2]' 'spine[0-2]' 'rail[0-2]' "swp[1-$1]" 'up[0-2]' 'down[0-2]'; }
# cut_off: returns false if `twin up` ended before the signal came.
cut_off() {
  env --default-signal=INT "$lockstep" twin up "$pod" >"$work/out" 2>&1 &
  local changing=$! code=0
  until has_namespace '-gpu[6-9]$' || ! kill -0 "$changing" 2>/dev/null; do read -rt 0.01 <> <(:) || true; done
  kill -INT "$changing" 2>/dev/null || true
  wait "$changing" || code=$?
  cat "$work/out"
  if [ "$code" -eq 0 ]; then
    [ "$(namespaces | grep -c -- '-gpu[1-9]$')" -eq 9 ] || fail "it ended with 0, and there are not nine hosts"
    return 1
  fi
  [ "$code" -eq 1 ] || fail "cut off, it ended with $code"
  told 'goes on from where it is'
  ! has_namespace '-gpu[6-9]$' || fail "a host is there in part"
}
for try in 1 2 3 4 5 6; do
  [ "$try" != 6 ] || fail "no signal came before all was made"
  hosts_to 9
  if cut_off; then break; fi
  hosts_to 5
  expect 0 "$lockstep" twin up "$pod"
done
expect 0 "$lockstep" twin up "$pod"
[ "$(namespaces | grep -c -- '-gpu[1-9]$')" -eq 9 ] || fail "there are not nine hosts"
expect 0 "$lockstep" twin status "$pod"

# Everything that must have stayed unchanged throughout.
[ "$(kept_things)" = "$things" ] || fail "what stays was touched"
[ "$(kept_numbers)" = "$numbers" ] || fail "numbers moved"
kill -INT "$pinging" 2>/dev/null || fail "the ping has ended"
wait "$pinging" || true
cat "$pings"
grep -q ' 0% packet loss' "$pings" || fail "traffic between what stays was cut"

cmp "$work/lock.before" "$pod/allocations.lock" || fail "a twin wrote beside the specs"
left=$(processes)
expect 0 "$lockstep" twin down "$pod"
[ -z "$(namespaces)" ] || fail "namespaces are left"
[ ! -e "$run_dir" ] && [ ! -e "$LOCKSTEP_STATE_DIR/$twin-twin" ] || fail "files are left"
for pid in $left; do [ ! -d "/proc/$pid" ] || fail "process $pid is left"; done
# The twin's numbers are removed with it: a new twin has the numbers that the specs alone give.
shape 'gpu[1-4]' leaf1 'spine[0-1]' rail1 'swp[1-4]' 'up[0-1]' down1
expect 0 "$lockstep" explain --twin "$pod" spine0 bgp/router-id
! grep -q "$(echo "$numbers" | head -n 1)" "$work/out" || fail "numbers outlived their twin"
echo "a leaf, a host, a spine, a rail and a cable came and went under a running twin, and nothing else moved"
