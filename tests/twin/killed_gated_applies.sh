#!/usr/bin/env bash
# kill -9 at random points of gated applies on a running twin, of the runs after them too, with changes that hold, that break
# the SLO, and with a fault by hand: no change that nobody judged is forgotten, and none is judged twice. KILLS=10, as on CI (100 by `tests/run.sh soak`),
# and SEED=N, which is printed, choose how many and which (again the same, as far as the machine's load lets them).
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/twin/pod.sh
export KILLS=${KILLS:-10} SEED=${SEED:-$RANDOM}
echo "SEED=$SEED"

# A gate of a second or two: few pairs, short, and a bound that a machine keeps under a load of 10 for each CPU (there some
# fall to 10 %, and are told as bound by their CPU); tcp_rmem of 4096 bytes does not (6-10 %). Of three hosts: a fault at one
# leaves pairs without it. With uplinks that carry four streams at once, their 12 pairs, which cross every link, are 3 rounds.
streams_alone cross-leaf 100ms 15%
sed -i 's/gpu\[1-4\]/gpu[1-3]/; s/swp\[1-4\]/swp[1-3]/; s/speed: 400Gbps/speed: 1600Gbps/' "$pod/devices.yaml" "$pod/fabric.yaml"
sed -i 's/waves: .*/waves: ["1", "100%"]/' "$pod/policy.yaml"
"$lockstep" twin up "$pod"
# Filled in again and again.
sed -i 's/slow_start_after_idle: 0/slow_start_after_idle: @IDLE@\n    net.ipv4.tcp_rmem: "@RMEM@"\n    net.ipv4.ip_default_ttl: @TTL@/' "$pod/hosts.yaml"
sed -i 's/maxPaths: 64/maxPaths: @PATHS@/; s/host: 9000/host: @MTU@/' "$pod/fabric.yaml"
python3 -B tests/twin/killed_gated_applies.py "$lockstep" "$pod" "${approve#--approve }"
