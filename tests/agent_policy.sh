#!/usr/bin/env bash
# agent_policy.sh LOCKSTEP AGENT: whoever has a controller's certificate can't make an agent do what the host policy refuses:
# not by an apply, nor by the undo that comes with one, nor by a remedy, nor by a rollback after root has made the policy stricter. The
# oracle is /proc/sys. Runs in its own mount and network namespaces, so that /etc/lockstep and net.* are the test's.
set -euo pipefail
here=$(realpath "$(dirname "$0")")
if [ "$2" != inside ]; then
  AGENT=$(realpath "$2")
  export AGENT
  set -- "$1"
fi
. "$(dirname "$0")/needs.sh"
. "$(dirname "$0")/expect.sh"
own_machine policy-test "a host policy is root's" "$0" "$@"
ip link set lo up
mkdir /etc/lockstep
chmod 755 /etc/lockstep
cd "$work"
"$lockstep" ca init ca --cluster lab >/dev/null
"$lockstep" ca issue ca --role device --name policy-test --ip 127.0.0.1 --out agent >/dev/null
"$lockstep" ca issue ca --role controller --name thief --out thief >/dev/null
cat >agent.yaml <<YAML
apiVersion: lockstep.dev/v1alpha1
kind: AgentConfig
spec:
  cluster: lab
  device: policy-test
  drivers: [linux]
  listen: "127.0.0.1:7443"
  tls: {ca: ca/ca.crt, certificate: agent/policy-test.crt, key: agent/policy-test.key}
  journal: $work/journal
YAML
exec python3 -B "$here/agent_policy.py" "$AGENT" "$work"
