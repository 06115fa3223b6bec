#!/usr/bin/env bash
# make.sh LOCKSTEP: regenerates topology.svg and recording.svg from a real run on a twin of examples/rail-pod. Needs root
# and two minutes. Removes the twin and its folder at the end.
set -euo pipefail
binary=$(realpath "$1")
pictures=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d /tmp/lockstep-pictures.XXXXXX)
mkdir "$work/bin"
ln -s "$binary" "$work/bin/lockstep"
export PATH=$work/bin:$PATH LOCKSTEP_STATE_DIR=$work/state
cp -r "$pictures/../../examples/rail-pod" "$work/rail-pod"
cd "$work/rail-pod"
clean_up() {
  lockstep twin down >/dev/null 2>&1 || true
  cd / && rm -rf "$work"
}
trap clean_up EXIT

approve="--yes --approve approval:traffic,drain"
lockstep twin up --link-rate 100Mbps >/dev/null
lockstep apply --twin $approve --no-measure >/dev/null

python3 -B "$pictures/record.py" "$work/recording.svg" \
  "# A twin of rail-pod runs on this machine, configured as declared." \
  "lockstep drift --twin" \
  "# Two faults. Drift shows them, what they cause, and the spec line that each value comes from:" \
  "lockstep twin break . mtu gpu1 rail0" \
  "lockstep twin break . bgp-neighbor-shutdown leaf0 up1" \
  "lockstep drift --twin" \
  "# Apply: measure, write in a safe order, verify the effect, measure again; roll back what breaks an SLO." \
  "lockstep apply --twin $approve" \
  "lockstep drift --twin"

# The picture of the fabric, with one drifted port marked.
lockstep twin break . mtu gpu1 rail0 >/dev/null
code=0
lockstep drift --twin -o json >"$work/drift.json" || code=$?
[ "$code" -eq 2 ] || { echo "drift ended with $code instead of 2" >&2; exit 1; }
lockstep topology -o svg --drift "$work/drift.json" >"$work/topology.svg"
cp "$work/recording.svg" "$work/topology.svg" "$pictures/"
ls -l "$pictures"/*.svg
