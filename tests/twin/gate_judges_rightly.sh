#!/usr/bin/env bash
# On a running twin: the gate keeps a change if the breakage existed before it, and rolls back a change that breaks something,
# after its first wave of one host, even if the breakage looks like a lack of CPU. Guards against: the first change is
# rolled back with "measured again: fail", and the second is kept on all hosts with exit code 0.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/twin/pod.sh
in_gpu1() { "$lockstep" twin exec "$pod" gpu1 -- "$@"; }

# Only streams, with a bound that a busy machine meets.
streams_alone all 300ms 50%
"$lockstep" twin up "$pod"
expect 0 "$lockstep" apply --twin --yes $approve --no-measure "$pod"
# If the machine's own load prevents a new baseline, that is reported.
expect "0 1" "$lockstep" bench --twin --accept "$pod"
told 'accepted as the new baseline\|not accepted as the baseline: backend-slo/pairs'

in_gpu1 ip rule add to 10.64.0.0/16 blackhole pref 10
sed -i 's/maxPaths: 64/maxPaths: 32/' "$pod/fabric.yaml"
expect 2 "$lockstep" apply --twin --yes $approve "$pod"
told 'not caused'
told '^kept'
expect 0 "$lockstep" plan --details --twin "$pod"
# A broken result is not accepted as the baseline, and -o json prints a single document.
expect 2 "$lockstep" bench --twin --accept -o json "$pod"
python3 -c '
import json, sys
accepted = json.load(open(sys.argv[1]))["accepted"]
assert accepted["baseline"] is False and "gpu1" in accepted["why"], accepted' "$work/out"
in_gpu1 ip rule del pref 10

# Steps that need approval (the switches' ECMP) do not hide the paths: the hosts' bad value is judged, one host at a time.
# Guards against: all four hosts keep it, unmeasured, with "not affected by the change".
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
expect 0 "$lockstep" plan --details --twin "$pod"

sed -i 's/^  sysctl:/  sysctl:\n    net.ipv4.tcp_rmem: "4096 4096 4096"/' "$pod/hosts.yaml"
expect 2 "$lockstep" apply --twin --yes $approve "$pod"
told 'broken by the change'
told '^rolled back'
told "this change's doing: pairs that were broken hold without it"
for host in gpu1 gpu2 gpu3 gpu4; do
  [ "$("$lockstep" twin exec "$pod" "$host" -- sysctl -n net.ipv4.tcp_rmem | cut -f 1,2)" != "$(printf '4096\t4096')" ] ||
    { echo "$host kept it" >&2; exit 1; }
done
# The first wave, of one host, is also the last: no other host gets the bad value.
[ "$(grep -c '× gpu[1-4] .*skipped' "$work/out")" -eq 3 ] || { echo "more than one host had it" >&2; exit 1; }
# The history names the change that made that host's bandwidth worse, and no other.
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

# A new host whose cable loses packets: only that host is rolled back and held; the host that was added with it stays.
cp "$work/hosts.before" "$pod/hosts.yaml"
sed -i 's/names: gpu\[1-4\]/names: gpu[1-6]/' "$pod/devices.yaml"
sed -i -e 's/gpu\[1-4\]:rail/gpu[1-6]:rail/; s/swp\[1-4\]/swp[1-6]/' "$pod/fabric.yaml"
expect 0 "$lockstep" twin up "$pod"
expect 0 "$lockstep" twin break "$pod" packet-loss leaf0 swp6 60%
expect 2 "$lockstep" apply --twin --yes $approve "$pod"
told 'new, and broken'
told '^rolled back in part'
told 'on gpu6 alone'
of_fabric() { "$lockstep" twin exec "$pod" "$1" -- ip -o address show dev "$2" | grep -c ' 10\.64\.' || true; }
[ "$(of_fabric gpu6 rail0)" -eq 0 ] || { echo "gpu6 kept its address" >&2; exit 1; }
[ "$(of_fabric gpu5 rail0)" -eq 1 ] || { echo "gpu5 lost its address" >&2; exit 1; }
expect 2 "$lockstep" plan --details --twin "$pod"
told 'gpu6'
! grep -q '^  gpu5 ' "$work/out" || { echo "the plan has something for gpu5" >&2; exit 1; }
echo "what was broken before was kept, and what the change broke was undone after one host"
