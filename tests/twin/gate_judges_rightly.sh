#!/usr/bin/env bash
# On a running twin: what was broken before a change is not undone for it, and what a change breaks is, after its first wave
# of one host, also where it shows as want of CPU. Tried before: the first was undone with "measured again: fail", the second
# kept with exit code 0, after all hosts had it.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/twin/pod.sh
in_gpu1() { "$lockstep" twin exec "$pod" gpu1 -- "$@"; }

# Streams alone, and a bound that a busy machine keeps.
streams_alone all 300ms 50%
"$lockstep" twin up "$pod"
expect 0 "$lockstep" apply --twin --yes $approve --no-measure "$pod"
# What the machine's own load keeps from being accepted is said; it ended with 0 and said nothing.
expect "0 1" "$lockstep" bench --twin --accept "$pod"
told 'accepted as the new baseline\|not accepted as the baseline: backend-slo/pairs'

in_gpu1 ip rule add to 10.64.0.0/16 blackhole pref 10
sed -i 's/maxPaths: 64/maxPaths: 32/' "$pod/fabric.yaml"
expect 2 "$lockstep" apply --twin --yes $approve "$pod"
told 'not caused'
told '^kept'
expect 0 "$lockstep" plan --twin "$pod"
# What is broken is not accepted, and a program that reads the answer gets one document.
expect 2 "$lockstep" bench --twin --accept -o json "$pod"
python3 -c '
import json, sys
accepted = json.load(open(sys.argv[1]))["accepted"]
assert accepted["baseline"] is False and "gpu1" in accepted["why"], accepted' "$work/out"
in_gpu1 ip rule del pref 10

# What waits for a person's word (the switches' new ECMP) hides no path: the hosts' bad value is judged, one host at a time. Tried
# before: all four kept it, unmeasured, with "nothing here was affected".
cp "$pod/hosts.yaml" "$work/hosts.before"
sed -i 's/maxPaths: 32/maxPaths: 16/' "$pod/fabric.yaml"
sed -i 's/^  sysctl:/  sysctl:\n    net.ipv4.ip_default_ttl: 1/' "$pod/hosts.yaml"
expect 2 "$lockstep" apply --twin --yes "$pod"
told 'broken by the change'
told "this change's doing: pairs that were broken hold without it"
for host in gpu1 gpu2 gpu3 gpu4; do
  [ "$("$lockstep" twin exec "$pod" "$host" -- sysctl -n net.ipv4.ip_default_ttl)" -ne 1 ] || { echo "$host kept a TTL of 1" >&2; exit 1; }
done
cp "$work/hosts.before" "$pod/hosts.yaml"
sed -i 's/maxPaths: 16/maxPaths: 32/' "$pod/fabric.yaml"
expect 0 "$lockstep" plan --twin "$pod"

sed -i 's/^  sysctl:/  sysctl:\n    net.ipv4.tcp_rmem: "4096 4096 4096"/' "$pod/hosts.yaml"
expect 2 "$lockstep" apply --twin --yes $approve "$pod"
told 'broken by the change'
told '^undone'
told "this change's doing: pairs that were broken hold without it"
for host in gpu1 gpu2 gpu3 gpu4; do
  [ "$("$lockstep" twin exec "$pod" "$host" -- sysctl -n net.ipv4.tcp_rmem | cut -f 1,2)" != "$(printf '4096\t4096')" ] ||
    { echo "$host kept it" >&2; exit 1; }
done
# One host is the first wave, and the last: what it breaks reaches no other.
[ "$(grep -c '× gpu[1-4] .*skipped' "$work/out")" -eq 3 ] || { echo "more than one host had it" >&2; exit 1; }
# The history has it by name: the change of that host's buffers, and no other.
expect 0 "$lockstep" history --twin -o json "$pod"
read -r change host < <(python3 -c '
import json, sys
undone = [one for one in json.load(open(sys.argv[1]))["changes"] if one["runs"] and one["outcome"] == "undone"]
print(undone[0]["change"], undone[0]["devices"][0])' "$work/out")
expect 0 "$lockstep" history --twin --of "$host" --metric bandwidth "$pod"
told "worse: change $change "
expect "0 2 3" "$lockstep" bench --twin --compare "change:$change" -o json "$pod"
python3 -c '
import json, sys
bench = json.load(open(sys.argv[1]))
assert bench["run"] > 0 and bench["compare"]["figures"], bench
assert not any(one["what"] in ("boot", "kernel", "version", "transport") for one in bench["compare"]["differs"]), bench["compare"]["differs"]' "$work/out"

# A host that is new, and whose cable loses packets: it alone is taken back, and held; whoever came with it stays.
cp "$work/hosts.before" "$pod/hosts.yaml"
sed -i 's/names: gpu\[1-4\]/names: gpu[1-6]/' "$pod/devices.yaml"
sed -i -e 's/gpu\[1-4\]:rail/gpu[1-6]:rail/; s/swp\[1-4\]/swp[1-6]/' "$pod/fabric.yaml"
expect 0 "$lockstep" twin up "$pod"
expect 0 "$lockstep" twin break "$pod" packet-loss leaf0 swp6 60%
expect 2 "$lockstep" apply --twin --yes $approve "$pod"
told 'new, and broken'
told '^undone in part'
told 'on gpu6 alone'
of_fabric() { "$lockstep" twin exec "$pod" "$1" -- ip -o address show dev "$2" | grep -c ' 10\.64\.' || true; }
[ "$(of_fabric gpu6 rail0)" -eq 0 ] || { echo "gpu6 kept its address" >&2; exit 1; }
[ "$(of_fabric gpu5 rail0)" -eq 1 ] || { echo "gpu5 lost its address" >&2; exit 1; }
expect 2 "$lockstep" plan --twin "$pod"
told 'gpu6'
! grep -q '^  gpu5 ' "$work/out" || { echo "the plan has something for gpu5" >&2; exit 1; }
echo "what was broken before was kept, and what the change broke was undone after one host"
