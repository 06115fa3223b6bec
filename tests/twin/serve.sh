#!/usr/bin/env bash
# `lockstep serve` over a twin, fed from a real git repository: commits are applied, bad ones change nothing and say where, what
# a gate refuses is undone and stays refused, drift is healed, `lockstep apply` is refused meanwhile, a killed service goes on.
# The oracles are ip(8), vtysh and git, never lockstep itself.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/twin/pod.sh
sed -i 's/  # mode: converge .*/  mode: converge/' "$pod/cluster.yaml"
changes_at_once
streams_alone all 400ms 30%
"$lockstep" twin up --link-rate 50Mbps "$pod"  # slow enough for a machine that runs other tests
python3 -B tests/twin/serve.py "$lockstep" "$pod" "$work"
