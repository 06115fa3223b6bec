#!/usr/bin/env bash
# `discover --twin` of a twin with agents: what each agent finds is what its device's namespace has, by a `lockstep discover`
# inside, and the neighbors are those of the specs' cables. An agent that does not run is named, and costs no other device.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/twin/pod.sh
rm -r "$pod"
cp -r tests/twin/two_hosts "$pod"
"$lockstep" twin up --agents --link-rate 100Mbps "$pod"
expect 0 "$lockstep" apply --twin --yes --no-measure $approve "$pod"  # ports are up, and lldpd speaks
# The controller's seat has no daemons of its own, whatever this machine's FRR has in /run/frr.
expect 0 "$lockstep" twin exec "$pod" @controller -- ip link show lo

"$lockstep" discover --twin -o json "$pod" >"$work/all.json"
for device in gpu1 gpu2 leaf0; do "$lockstep" twin exec "$pod" "$device" "$lockstep" discover -o json >"$work/$device.json"; done
python3 - "$work" <<'PYTHON'
import json, sys
def of(name):
    return json.load(open(f"{sys.argv[1]}/{name}.json"))
def ports(device):
    # Neighbors come from the device's own lldpd, which is not the one of this machine.
    return {port["name"]: {key: value for key, value in port.items() if key != "neighbour"} for port in device["ports"]}
found = of("all")
assert found["unobserved"] == [], found["unobserved"]
assert [device["name"] for device in found["devices"]] == ["gpu1", "gpu2", "leaf0"], found
for device in found["devices"]:
    inside = ports(of(device["name"])["devices"][0])
    assert "mgmt0" in inside, inside
    assert ports(device) == inside, (device["name"], ports(device), inside)
PYTHON

cabled() {
  "$lockstep" discover --twin -o json "$pod" | python3 -c '
import json, sys
heard = {(device["name"], port["name"]): port.get("neighbour") for device in json.load(sys.stdin)["devices"] for port in device["ports"]}
cables = {("gpu1", "rail0"): "leaf0:swp1", ("gpu2", "rail0"): "leaf0:swp2", ("leaf0", "swp1"): "gpu1:rail0", ("leaf0", "swp2"): "gpu2:rail0"}
sys.exit(not all(heard[end] == far for end, far in cables.items()))'
}
for ((i = 0; ; ++i)); do # each lldpd speaks every 2 s in a twin
  cabled && break
  [ $i -lt 60 ] || { echo "not all neighbors within 60 tries" >&2; exit 1; }
  sleep 0.3
done

"$lockstep" twin break "$pod" agent-killed gpu2
expect 3 "$lockstep" discover --twin "$pod"
told "not observed: .*gpu2: .*gpu2 (https://"
told "^gpu1  *rail0 "
told "^leaf0  *swp1 "
