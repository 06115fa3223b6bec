#!/usr/bin/env bash
# agent_unit.sh SOURCE LOCKSTEP_AGENT: the unit of lockstep-agent is one that systemd accepts, and as closed as it was when it was
# reviewed; the agent's command line does what its manual page lists.
set -euo pipefail
. "$(dirname "$0")/needs.sh"
. "$(dirname "$0")/expect.sh"
source=$1 agent=$2
command -v systemd-analyze >/dev/null || not_tested_but_on_ci "systemd-analyze(1) judges the unit"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# 3.3 of 10 (systemd 252): what is left is root, and the capabilities that the unit gives reasons for.
expect 0 "lockstep-agent.service" systemd-analyze security --offline=true --threshold=33 --no-pager "$source/packaging/lockstep-agent.service"
sed "s#/usr/sbin/lockstep-agent#$agent#; s#^Documentation=.*##" "$source/packaging/lockstep-agent.service" >"$work/lockstep-agent.service"
said=$(systemd-analyze verify --man=no "$work/lockstep-agent.service" 2>&1 | grep -F lockstep-agent.service || true)
[ -z "$said" ] || fail "systemd-analyze verify: $said"

for command in $("$agent" --help | sed -n '/^Subcommands:/,$s/^  \([a-z]*\) .*/\1/p'); do
  grep -q "^\.\(B\|BI\) $command" "$source/packaging/lockstep-agent.8" || fail "lockstep-agent.8 lacks $command"
done

cat >"$work/agent.yaml" <<'YAML'
apiVersion: lockstep.dev/v1alpha1
kind: AgentConfig
spec: {cluster: lab, device: gpu1, tls: {ca: ca.crt, certificate: gpu1.crt, key: gpu1.key}, journal: JOURNAL}
YAML
sed -i "s#JOURNAL#$work/journal#" "$work/agent.yaml"
run() { "$agent" --config "$work/agent.yaml" "$@"; }
expect 1 "ca.crt" run check
expect 0 "writes are refused: maintenance of the rack" run hold "maintenance of the rack"
expect 1 "writes are refused: maintenance of the rack" run status
expect 0 "writes are accepted again" run release
expect 0 "device gpu1 of lab" run status
expect 1 "a hold needs a reason" run hold ""
expect 2 "" run nonsense
echo 'spec: {cluster: lab, device: gpu1, drivers: [sonic], tls: {}}' >"$work/agent.yaml"
expect 1 "agent.yaml:1:" run check
failed_none
