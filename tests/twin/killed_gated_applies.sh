#!/usr/bin/env bash
# kill -9 at random points of gated applies on a running twin, and of the runs that follow, with changes that pass, changes
# that break the SLO, and manual faults: no change that is not validated yet is forgotten, and none is judged twice.
# KILLS=6, as on CI (`tests/run.sh soak`: 100), is the number of kills. SEED=N, which is printed, repeats them, as far as the
# machine's load allows.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/twin/pod.sh
export KILLS=${KILLS:-6} SEED=${SEED:-$RANDOM}
echo "SEED=$SEED"

# A gate of a second or two: few pairs, short streams, and a bound that a machine meets under a load of 10 per CPU (there some
# pairs fall to 10 %, and are reported as limited by their CPU), but not with a tcp_rmem of 4096 bytes (6-10 %). Three hosts,
# so that a fault at one leaves pairs without it. The uplinks have room for four streams at once: the 12 pairs, which cross
# every link, take 3 rounds.
streams_alone cross-leaf 100ms 15%
sed -i 's/gpu\[1-4\]/gpu[1-3]/; s/swp\[1-4\]/swp[1-3]/; s/speed: 400Gbps/speed: 1600Gbps/' "$pod/devices.yaml" "$pod/fabric.yaml"
sed -i 's/waves: .*/waves: ["1", "100%"]/' "$pod/policy.yaml"
"$lockstep" twin up "$pod"
# killed_gated_applies.py replaces these placeholders for each run.
sed -i 's/slow_start_after_idle: 0/slow_start_after_idle: @IDLE@\n    net.ipv4.tcp_rmem: "@RMEM@"\n    net.ipv4.ip_default_ttl: @TTL@/' "$pod/hosts.yaml"
sed -i 's/maxPaths: 64/maxPaths: @PATHS@/; s/host: 9000/host: @MTU@/' "$pod/fabric.yaml"
python3 -B tests/twin/killed_gated_applies.py "$lockstep" "$pod" "${approve#--approve }"
