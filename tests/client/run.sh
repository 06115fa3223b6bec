#!/usr/bin/env bash
# run.sh SOURCE LOCKSTEP: the commands for a service, against a real `lockstep serve` of specs whose devices are out of reach. The
# oracles are curl(1) and jq(1), the audit log, /proc, and for what is served the service's own OpenAPI document.
set -euo pipefail
. "$(dirname "$0")/../needs.sh"
. "$(dirname "$0")/../expect.sh"
/usr/bin/python3 -c 'import jsonschema' || not_tested_but_on_ci "what is served is checked by python3 and python3-jsonschema"
source=$(realpath "$1") lockstep=$(realpath "$2")
command -v curl >/dev/null && command -v jq >/dev/null || not_tested_but_on_ci "curl and jq are the oracles"
work=$(mktemp -d)
service=
trap '[ -z "$service" ] || kill "$service" 2>/dev/null || true; wait; rm -rf "$work"' EXIT
export LOCKSTEP_STATE_DIR=$work/state LOCKSTEP_RUN_DIR=$work/locks STATE_DIRECTORY=$work/service CACHE_DIRECTORY=$work/cache
export LOCKSTEP_CONTEXT_FILE=$work/contexts.yaml
mkdir -m 700 "$work/run" "$work/service" "$work/cache"
socket=$work/run/api.sock
cp -r "$source/examples/rail-pod" "$work/specs"
"$lockstep" lock "$work/specs" >/dev/null

# soon TEXT COMMAND...: its output has TEXT, within a minute.
soon() {
  local end=$((SECONDS + 60)) out
  until out=$("${@:2}" 2>&1 </dev/null) && case $out in *"$1"*) true ;; *) false ;; esac; do
    [ "$SECONDS" -lt "$end" ] || { fail "${*:2}: never '$1': $out"; return; }
    sleep 0.1
  done
}
start() {
  "$lockstep" serve "$work/specs" --listen "unix:$socket" --no-measure >>"$work/log" 2>&1 &
  service=$!
  soon rail-pod "$lockstep" get clusters
}
http() { curl -sS --unix-socket "$socket" "http://localhost/api/v1alpha1/$1"; }

expect 0 "there are no contexts" "$lockstep" context list
printf 'apiVersion: lockstep.dev/v1alpha1\nkind: Contexts\nspec:\n  contexts:\n    - {name: here, server: "unix:%s"}\n' "$socket" \
  >"$LOCKSTEP_CONTEXT_FILE"
expect 0 "here is the current context now" "$lockstep" context use here
expect 1 "no service runs here" "$lockstep" get clusters
# Commands that ask no service work as ever.
expect 0 "valid" "$lockstep" validate "$work/specs"
start

# The same objects as by curl, all of them.
soon gpu1 "$lockstep" get devices
names=$(http devices | jq -r '.items[].metadata.name')
[ "$("$lockstep" get devices -o 'jsonpath={range .items[*]}{.metadata.name}{"\n"}{end}')" = "$names" ] || fail "jsonpath names other devices"
[ "$("$lockstep" get devices -o name)" = "$(sed s:^:device/: <<<"$names")" ] || fail "-o name names other devices"
[ "$("$lockstep" get device leaf0 -o json | jq -S .spec)" = "$(http devices/leaf0 | jq -S .spec)" ] || fail "another leaf0"
revision=$(http revisions | jq -r '.items[0].metadata.name')
expect 0 "$revision" "$lockstep" describe revision "${revision:0:12}"
expect 0 "Conditions:" "$lockstep" describe device leaf0
expect 1 'devices "leaf9" not found' "$lockstep" get devices leaf9
expect 0 "LAST-SEEN" "$lockstep" events

# What is said arrives, and is in the audit log.
expect 0 "suspended: cluster rail-pod" "$lockstep" suspend --reason "power work"
[ "$(http clusters | jq -r '.items[0].spec.suspended.reason')" = "power work" ] || fail "it is not suspended"
expect 0 "Suspended" "$lockstep" get clusters
expect 0 "resumed: cluster rail-pod" "$lockstep" resume
expect 0 "reconciled: cluster rail-pod" "$lockstep" reconcile
expect 1 "devices \"leaf9\" not found" "$lockstep" cordon leaf9 --reason "a typo"
expect 0 "cordoned: device leaf0" "$lockstep" cordon leaf0 --reason "optics"
soon Cordoned "$lockstep" get device leaf0
expect 0 "uncordoned: device leaf0" "$lockstep" uncordon leaf0
[ "$(cat "$work"/service/*/audit.jsonl | jq -r 'select(.reason == "optics") | .action' | sort -u)" = cordon ] || fail "the audit log lacks it"

# A history is of one service, whose changes it has, and figures run by run are not among them.
expect 0 "history of rail-pod" "$lockstep" history --context here
expect 0 "no change is recorded here" "$lockstep" history --server "unix:$socket"
expect 0 '"changes": []' "$lockstep" history --context here -o json
expect 1 "leave it out" "$lockstep" history --context here --twin
expect 1 "the history of its own cluster alone" "$lockstep" history --context here "$work/specs"
expect 1 "get benchmarkruns" "$lockstep" history --context here --of gpu1
expect 1 "there is no context 'there'" "$lockstep" history --context there

# Each list and each object is as /openapi.json says. Devices out of reach are neither changed nor measured.
expect 0 "as described; none of benchmarkruns changes gitsources" /usr/bin/python3 -B "$(dirname "$0")/served.py" "$socket"

# A watch: a line for each change, also when the service is killed and starts anew.
"$lockstep" get device leaf1 --watch -o 'jsonpath={.metadata.name}:{.spec.cordoned.reason};' >"$work/watch" 2>"$work/notes" &
watch=$!
soon "leaf1:;" cat "$work/watch"
expect 0 "cordoned" "$lockstep" cordon leaf1 --reason "first"
soon "leaf1:first;" cat "$work/watch"
kill -9 "$service"
wait "$service" || true
soon "connection lost" cat "$work/notes"
start
expect 0 "uncordoned" "$lockstep" uncordon leaf1
expect 0 "cordoned" "$lockstep" cordon leaf1 --reason "second"
soon "leaf1:second;" cat "$work/watch"
kill -INT "$watch"
code=0
wait "$watch" || code=$?
[ "$code" = 0 ] || fail "a watch that is interrupted ends with $code: $(cat "$work/notes")"
failed_none
