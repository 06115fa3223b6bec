#!/usr/bin/env bash
# agent_machine.sh LOCKSTEP: `connect: {agent: ...}` with an agent on a machine of its own, outside of a twin, whose
# credentials `lockstep ca` made: discover, apply, drift and watch reach it by its name. That machine is a network namespace
# behind a cable; the oracles are ip(8), sysctl(8) and a `lockstep discover` inside it.
set -euo pipefail
. "$(dirname "$0")/needs.sh"
. "$(dirname "$0")/expect.sh"
own_machine gpu1 "it makes network namespaces" "$0" "$@"
agent=$(dirname "$lockstep")/lockstep-agent
idle=net.ipv4.tcp_slow_start_after_idle
export LOCKSTEP_PKI_DIR=$work/controller

# ends_with_this COMMAND...: starts it; it ends with this script, however that ends.
ends_with_this() { setpriv --pdeathsig KILL -- "$@" </dev/null & }
# until_true WHAT COMMAND...: within 30 s.
until_true() {
  local i
  for ((i = 0; i < 300; ++i)); do "${@:2}" >/dev/null 2>&1 && return; sleep 0.1; done
  fail "not within 30 s: $1"
}

ends_with_this unshare --net sleep infinity
machine=$!
there() { nsenter --target "$machine" --net -- "$@"; }
in_own_namespace() { [ "$(readlink "/proc/$machine/ns/net")" != "$(readlink /proc/self/ns/net)" ]; }
until_true "the machine's namespace" in_own_namespace
ip link set lo up
ip link add mgmt0 type veth peer name mgmt0 netns "$machine"
ip address add 10.9.0.1/24 dev mgmt0
ip link set mgmt0 up
there ip address add 10.9.0.2/24 dev mgmt0
there ip link add rail0 type veth peer name rail0-far
for port in lo mgmt0 rail0 rail0-far; do there ip link set "$port" up; done
printf '10.9.0.2 gpu1\n10.9.0.1 gpu2\n' >>/etc/hosts # nobody listens at gpu2's
mtu() { there ip -o link show rail0 | sed 's/.* mtu \([0-9]*\) .*/\1/'; }
mtu_is() { [ "$(mtu)" = "$1" ]; }

"$lockstep" ca init "$work/ca" --cluster lab >/dev/null
"$lockstep" ca issue "$work/ca" --role device --name gpu1 --dns gpu1 --out "$work/gpu1" >/dev/null
"$lockstep" ca issue "$work/ca" --role controller --name controller --out "$work/controller" >/dev/null
"$lockstep" ca issue "$work/ca" --role reader --name viewer --out "$work/reader" >/dev/null
for folder in gpu1 controller reader; do cp "$work/ca/ca.crt" "$work/ca/ca.crl" "$work/$folder/"; done
for end in crt key; do mv "$work/reader/viewer.$end" "$work/reader/controller.$end"; done
cat >"$work/gpu1/agent.yaml" <<YAML
apiVersion: lockstep.dev/v1alpha1
kind: AgentConfig
spec:
  cluster: lab
  device: gpu1
  drivers: [linux]
  listen: "10.9.0.2:7443"
  tls: {ca: ca.crt, certificate: gpu1.crt, key: gpu1.key, revoked: ca.crl}
  journal: $work/journal
YAML
start_agent() {
  rm -f "$work/ready"
  ends_with_this nsenter --target "$machine" --net -- "$agent" --config "$work/gpu1/agent.yaml" run --ready "$work/ready" 2>>"$work/agent.log"
  agent_process=$!
  until_true "the agent is ready: $(cat "$work/agent.log")" test -e "$work/ready"
}
start_agent

# specs FOLDER DEVICES MTU
specs() {
  mkdir -p "$work/$1"
  cat >"$work/$1/lab.yaml" <<YAML
apiVersion: lockstep.dev/v1alpha1
kind: Cluster
metadata: {name: lab}
spec: {}
---
apiVersion: lockstep.dev/v1alpha1
kind: DeviceSet
metadata: {name: hosts, labels: {pool: lab}}
spec:
  names: $2
  role: host
  drivers: [linux]
  connect: {agent: "https://{name}:7443"}
  interfaces: [{name: rail0, speed: 10Gbps}]
---
apiVersion: lockstep.dev/v1alpha1
kind: HostProfile
metadata: {name: training}
spec:
  selector: {matchLabels: {pool: lab}}
  sysctl: {$idle: 0}
  overrides: [{names: gpu1, set: {"interface[rail0]/mtu": $3}, reason: a test, until: 2099-12-01}]
YAML
}
specs lab gpu1 1400

echo "== discover"
same_discovery() {
  "$lockstep" discover -o json "$work/$1" >"$work/by-agent.json" || [ $? = "$2" ]
  there "$lockstep" discover -o json >"$work/there.json"
  python3 - "$work" <<'PYTHON'
import json, sys
by_agent, there = (json.load(open(f"{sys.argv[1]}/{name}.json")) for name in ("by-agent", "there"))
assert "rail0" in [port["name"] for port in there["devices"][0]["ports"]], there
assert by_agent["devices"] == there["devices"], (by_agent["devices"], there["devices"])
print(by_agent["unobserved"])
PYTHON
}
expect 0 "[]" same_discovery lab 0
expect 0 'mgmt0,rail0,rail0-far' "$lockstep" discover --draft "$work/lab"
expect 0 'connect: {agent: "https://{name}:7443"}' "$lockstep" discover --draft "$work/lab"
specs two 'gpu[1-2]' 1400
expect 3 "gpu2" "$lockstep" discover "$work/two"
expect 0 "gpu2 (https://gpu2:7443)" same_discovery two 3
LOCKSTEP_PKI_DIR=$work/reader expect 0 "rail0" "$lockstep" discover "$work/lab"
LOCKSTEP_PKI_DIR=$work/nothing expect 3 "nothing/ca.crt" "$lockstep" discover "$work/lab"

echo "== apply and drift"
here=$(sysctl -n $idle)
expect 2 "interface[*]/mtu" "$lockstep" plan "$work/lab"
expect 0 "" "$lockstep" apply --yes --no-measure "$work/lab"
mtu_is 1400 || fail "the MTU is $(mtu)"
[ "$(there sysctl -n $idle)" = 0 ] || fail "$idle is $(there sysctl -n $idle)"
[ "$(sysctl -n $idle)" = "$here" ] || fail "an apply to gpu1 changed the controller's machine"
expect 0 "" "$lockstep" drift "$work/lab"
there ip link set rail0 mtu 1300
there sysctl -qw $idle=1
expect 2 "interface[rail0]" "$lockstep" drift "$work/lab"
expect 2 "$idle" "$lockstep" drift "$work/lab"
expect 0 "" "$lockstep" apply --yes --no-measure "$work/lab"
mtu_is 1400 || fail "the MTU is $(mtu) after the manual change"
LOCKSTEP_PKI_DIR=$work/reader expect 0 "" "$lockstep" drift "$work/lab"

echo "== watch"
ends_with_this "$lockstep" watch -o json "$work/lab" >"$work/watch.out" 2>&1
watch=$!
connections() { there ss -Htn state established sport = :7443 | wc -l; }
both_are_open() { [ "$(connections)" = 2 ]; } # calls and events
# by_event KIND: the newest report of the MTU has this kind, and an event woke the watch, not its poll every 30 s.
by_event() {
  python3 - "$work/watch.out" "$1" <<'PYTHON'
import json, sys
reports = []
for line in open(sys.argv[1]):
    try:
        reports.append(json.loads(line))
    except ValueError:
        pass
of_mtu = [one for one in reports if one.get("path") == "interface[rail0]/mtu"]
sys.exit(not (of_mtu and of_mtu[-1]["event"] == sys.argv[2] and of_mtu[-1]["microseconds"] > 0))
PYTHON
}
until_true "two connections" both_are_open
there ip link set rail0 mtu 1300
until_true "a manual change is reported by its event" by_event drift
kill -KILL "$agent_process"
wait "$agent_process" 2>/dev/null || true
start_agent
until_true "two connections to the agent's next process" both_are_open
there ip link set rail0 mtu 1400
until_true "that it was cleared is reported by its event" by_event cleared
kill -INT "$watch"
code=0
wait "$watch" || code=$?
[ "$code" = 0 ] || fail "watch ended with $code: $(cat "$work/watch.out")"

[ "$failures" = 0 ] || tail -n 20 "$work/agent.log" "$work/watch.out"
failed_none
