#!/usr/bin/env bash
# plan.sh LOCKSTEP: `lockstep plan --server` against a real `lockstep serve`, whose one reachable device is this machine, in namespaces
# of its own. The oracles are `lockstep plan` without a service, /proc, and what a listening socket sees.
set -euo pipefail
. "$(dirname "$0")/../needs.sh"
. "$(dirname "$0")/../expect.sh"
command -v git >/dev/null || not_tested_but_on_ci "git names the commits of specs"
own_machine plan-test "the service observes a machine that is the test's own" "$0" "$@"
ip link set lo up
export STATE_DIRECTORY=$work/service CACHE_DIRECTORY=$work/cache LOCKSTEP_CONTEXT_FILE=$work/contexts.yaml
mkdir -m 700 "$work/service" "$work/cache" "$work/run"
sysctl -qw net.ipv4.tcp_mtu_probing=0
one_host specs plan-test "net.ipv4.tcp_mtu_probing: 0"
cat >"$work/specs/others.yaml" <<YAML
apiVersion: lockstep.dev/v1alpha1
kind: DeviceSet
metadata: {name: others, labels: {pool: others}}
spec: {names: gpu9, role: host, drivers: [linux], connect: {agent: "https://127.0.0.1:9"}}
YAML
"$lockstep" lock "$work/specs" >/dev/null
# With credentials for agents, so that the service could go where specs lead it.
export LOCKSTEP_PKI_DIR=$work/ca
"$lockstep" ca init "$work/ca" --cluster specs >/dev/null
"$lockstep" ca issue "$work/ca" --role controller --name controller >/dev/null
/usr/bin/python3 -B "$(dirname "$0")/plan.py" "$lockstep" "$work"
