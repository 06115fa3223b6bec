# Sourced by tests of a twin: makes a copy of the example rail-pod, and checks exit codes and output of commands on it.
. tests/needs.sh
needs_twin
lockstep=${LOCKSTEP_BINARY:?the program under test}

approve="--approve approval,drain,budget"  # the approvals that the pod's policy needs
work=$(mktemp -d)
export LOCKSTEP_STATE_DIR=$work/state
pod=$work/pod
cp -r examples/rail-pod "$pod"
# own_twin: the folder of the pod's twin, which is up; others may exist.
own_twin() {
  local id
  id=$("$lockstep" twin status -o json "$pod" | python3 -c 'import json, sys; print(json.load(sys.stdin)["id"])')
  [ -d "/run/lockstep/twin/$id" ] || { echo "/run/lockstep/twin/$id is no folder" >&2; return 1; }
  echo "/run/lockstep/twin/$id"
}
clean_up() {
  "$lockstep" twin down "$pod" >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap clean_up EXIT
# changes_at_once: nothing waits for an approval, but what the test adds.
changes_at_once() {
  cat >"$pod/policy.yaml" <<YAML
apiVersion: lockstep.dev/v1alpha1
kind: RolloutPolicy
metadata: {name: at-once}
spec: {selector: {}}
YAML
}
# streams_alone PAIRS DURATION SHARE: limits the pod's suite to the bandwidth of PAIRS, at least SHARE of nominal.
streams_alone() {
  cat >"$pod/slo.yaml" <<YAML
apiVersion: lockstep.dev/v1alpha1
kind: ValidationSuite
metadata: {name: backend-slo}
spec:
  fabric: backend
  transport: tcp
  benchmarks:
    - {name: pairs, workload: stream, pairs: $1, duration: $2, slo: [{metric: bandwidth, statistic: min, atLeast: $3 of nominal}]}
  onChange: {scope: affected, onViolation: rollback}
YAML
}
# expect CODES COMMAND...: COMMAND must exit with one of CODES; its output is in $work/out.
expect() {
  local want=$1 have=0
  shift
  "$@" >"$work/out" 2>&1 || have=$?
  cat "$work/out"
  [[ " $want " == *" $have "* ]] || { echo "'$*' ended with $have, not with one of $want" >&2; exit 1; }
}
told() { grep -q "$1" "$work/out" || { echo "nobody said '$1'" >&2; exit 1; }; }
