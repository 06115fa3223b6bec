#!/usr/bin/env bash
# On a running twin: a forged plan file without holds, live, disruption or together, and with matching digests, is refused;
# if the plan is stale for one host, neither end of its cables is changed (guards against cable ends with different MTUs);
# and the plan reports a refused deletion in the same words as the apply.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/twin/pod.sh

mtu() { "$lockstep" twin exec "$pod" "$1" -- cat "/sys/class/net/$2/mtu"; }
# even: fails unless both ends of each cable of the hosts have the same MTU.
even() {
  local host rail here there
  for host in 1 2 3 4; do
    for rail in 0 1; do
      here=$(mtu "gpu$host" "rail$rail") there=$(mtu "leaf$rail" "swp$host")
      [ "$here" = "$there" ] || { echo "gpu$host:rail$rail has $here, leaf$rail:swp$host $there" >&2; exit 1; }
    done
  done
}
# forge FIELD...: removes the fields from every step, and recomputes the file's digests.
forge() {
  python3 - "$work/plan.json" "$@" <<'PY'
import hashlib, json, sys
file, fields = sys.argv[1], sys.argv[2:]
plan = json.load(open(file))
assert all(any(field in step for step in plan["steps"]) for field in fields), "nothing to take"
for step in plan["steps"]:
    for field in fields:
        if field == "disruption": step[field] = "none"
        else: step.pop(field, None)
    for hold in step.get("holds", []):  # the approval that it needs depends on the step's disruption
        if hold["kind"] == "approval": hold["approve"] = "approval:" + step["disruption"]
del plan["fileDigest"]
def text(document): return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
bytes_ = text(plan).encode()
plan["fileDigest"] = "sha256:" + hashlib.sha256(len(bytes_).to_bytes(8, "little") + bytes_).hexdigest()
open(file, "w").write(text(plan))
PY
}

"$lockstep" twin up "$pod"
expect 0 "$lockstep" apply --twin --yes $approve --no-measure "$pod"
sed -i 's/mtu: {host: 9000/mtu: {host: 8000/' "$pod/fabric.yaml"
for fields in holds live disruption "holds live disruption together notes"; do
  expect 2 "$lockstep" plan --details --twin --out "$work/plan.json" "$pod"
  forge $fields
  expect 2 "$lockstep" apply --yes $approve --no-measure -o json "$work/plan.json"
  python3 - "$work/out" <<'PY'
import json, sys
text = open(sys.argv[1]).read()
report = json.loads(text[text.index("{"):])
refused = [one for one in report["notRun"] if one["state"] == "refused"]
assert report["verdict"] == "refused" and refused, report
assert all(one["device"] and one["step"] and one["reason"] for one in refused), refused
PY
  even
  [ "$(mtu gpu1 rail0)" = 9000 ] || { echo "a forged step ran" >&2; exit 1; }
done

expect 2 "$lockstep" plan --details --twin --out "$work/plan.json" "$pod"
"$lockstep" twin exec "$pod" gpu1 -- sysctl -qw net.ipv4.tcp_mtu_probing=2
"$lockstep" twin exec "$pod" gpu1 -- ip link set rail0 mtu 8999
expect 2 "$lockstep" apply --yes $approve --no-measure "$work/plan.json"
told 'gpu1 has changed'
told 'gpu2 step .* comes after step .*: gpu1 has changed'  # its routes must be locked before any host's MTU shrinks
"$lockstep" twin exec "$pod" gpu1 -- ip link set rail0 mtu 9000
even

expect 2 "$lockstep" plan --details --twin --out "$work/plan.json" "$pod"
expect 0 "$lockstep" apply --yes $approve --no-measure "$work/plan.json"
even
[ "$(mtu leaf0 swp1)" = 8000 ] || { echo "the plan was not carried out" >&2; exit 1; }

rm "$pod/hosts.yaml" "$pod/slo.yaml"
sed -i 's/mtu: {host: 8000/mtu: {host: 9000/' "$pod/fabric.yaml"
expect 2 "$lockstep" plan --details --twin --out "$work/plan.json" "$pod"
told 'an apply would be refused: .*HostProfile/.*--confirm-deletion applies it all the same'
expect 1 "$lockstep" apply --yes $approve "$work/plan.json"
told 'HostProfile/.*--confirm-deletion applies it all the same'
expect 0 "$lockstep" apply --yes $approve --confirm-deletion --no-measure "$work/plan.json"
echo "a plan file approves of steps, and weakens none"
