#!/usr/bin/env bash
# trial.sh [down]: tries a change on a twin before it is merged. Brings up a twin of the former specs, applies them, applies
# the new ones to it, measured by the gate, and takes the twin down. Needs root, FRR and lldpd; reaches no real device.
# `down` only takes down what a killed run has left: run it afterwards in any case.
# Settings (environment): SPECS, OUT, LOCKSTEP (lib.sh); BASE: the commit of the former specs; LINK_RATE: speed of the twin's
# fastest link (default 200Mbps, which two processors sustain).
# Writes to OUT: trial.xml (JUnit: each step and each SLO), trial.md, trial.json (the ApplyReport), and on GitHub the page to
# the summary of the job.
# Exit codes: 0: the change is kept. 1: it is rolled back, not validated (no benchmark could tell), or a step failed. What
# cannot be judged is no pass: try again on a machine that does less.
here=$(dirname "$0")
# shellcheck source=lib.sh
. "$here/lib.sh"

mkdir -p "$OUT"
OUT=$(realpath "$OUT")
work=$OUT/trial
specs=$work/specs  # one folder: a twin is that of its folder
export LOCKSTEP_STATE_DIR=$work/state
# A twin runs no jobs that could be disturbed, so every hold that can be approved is approved: the change itself is tried.
approved=(--yes --confirm-deletion --approve "approval,budget,drain,far-end")

# Processes that have the folder as an argument: an apply outlives a trial that is killed.
left_running() {
  local process
  for process in /proc/[0-9]*; do
    if tr '\0' '\n' 2>/dev/null <"$process/cmdline" | grep -cxF "$specs" >/dev/null; then basename "$process"; fi
  done
}

# The twin by its name, because the specs may be invalid.
down() {
  local name process
  for process in $(left_running 2>/dev/null); do kill -KILL "$process" 2>/dev/null || true; done
  for name in $("$LOCKSTEP" twin list -o json | jq -r --arg folder "$specs" '.twins[] | select(.folder == $folder).name'); do
    "$LOCKSTEP" twin down --force --name "$name"
  done
  no_former_specs "$work/base"
  rm -rf "$work"
}
if [ "${1:-}" = down ]; then
  down
  exit
fi
[ "$(id -u)" -eq 0 ] || fail "a twin needs root"
down
rm -f "$OUT/trial.xml" "$OUT/trial.md" "$OUT/trial.json"
mkdir -p "$work"
trap down EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# result NAME CODE SECONDS LOG: one case of the JUnit report and one row of the page.
result() {
  local word=passed body=
  case $2 in
    0) ;;
    2) word=failed body="<failure message=\"$(failure_of "$2" "$1")\">$(tail -n 40 "$4" | markup)</failure>" ;;
    *) word=error body="<error message=\"$(failure_of "$2" "$1")\">$(tail -n 40 "$4" | markup)</error>" ;;
  esac
  printf '    <testcase classname="trial" name="%s" time="%s">%s</testcase>\n' "$1" "$3" "$body" >>"$work/cases"
  printf '| %s | %s | %s s |\n' "$1" "$word" "$3" >>"$work/rows"
}
failure_of() {
  case $1 in
    2) echo "$2: it was rolled back, or the devices still differ" ;;
    3) echo "$2: incomplete: nothing could tell whether it holds" ;;
    *) echo "$2: exit code $1" ;;
  esac
}

# step NAME COMMAND...: ends the trial if the command fails.
step() {
  local name=$1 code=0 begun=$EPOCHSECONDS
  shift
  echo "== $name"
  "$@" >"$work/log" 2>&1 || code=$?
  cat "$work/log"
  result "$name" "$code" $((EPOCHSECONDS - begun)) "$work/log"
  [ "$code" -eq 0 ] || finish 1
}

# The SLOs that the gate measured, of an ApplyReport, as cases: an SLO that could not be judged is no pass.
slo_cases() {
  jq -r '(.benchmarks.benchmarks // [])[] as $one | $one.slo[] |
    "\($one.name): \(.metric) \(.statistic) \(.want)" as $name | "actual \(.have); worst: \(.worst) \(.reason)" as $text |
    "    <testcase classname=\"\($one.suite | @html)\" name=\"\($name | @html)\">" +
    (if .verdict == "pass" then "" elif .verdict == "fail" then "<failure message=\"\($text | @html)\"/>"
     else "<error message=\"\($text | @html)\"/>" end) + "</testcase>"' "$OUT/trial.json" | LC_ALL=C tr -d '\000-\010\013-\037'
}
slo_rows() {
  jq -r '(.benchmarks.benchmarks // [])[] as $one | $one.slo[] |
    "\($one.suite)/\($one.name): \(.metric) \(.statistic) \(.want) | \(.verdict) | \(.have)" | @html | "| \(.) |"' "$OUT/trial.json"
}

# What is not validated (3) is no obstacle here: what the change makes worse is measured against it.
# shellcheck disable=SC2317  # `step` calls it
apply_former() {
  local code=0
  "$LOCKSTEP" apply --twin "${approved[@]}" "$specs" || code=$?
  [ "$code" -eq 3 ] || return "$code"
}

# shellcheck disable=SC2317  # `step` calls it
apply_new() {
  local code=0
  "$LOCKSTEP" apply --twin "${approved[@]}" -o json "$specs" >"$OUT/trial.json" || code=$?
  jq -r 'if .kind == "Error" then .errors[].message else
    "\(if .verdict == "undone" then "rolled back" else .verdict end): \(.gate.why // "nothing had to be measured")",
    (.steps[] | select(.state != "done" and .why != "") | "step \(.id) on \(.device): \(.why)") end' "$OUT/trial.json"
  return "$code"
}

# finish CODE: writes the reports.
finish() {
  local cases failures errors
  if [ -s "$OUT/trial.json" ]; then slo_cases >>"$work/cases" || true; fi
  cases=$(wc -l <"$work/cases")
  failures=$(grep -c '<failure ' "$work/cases" || true)
  errors=$(grep -c '<error ' "$work/cases" || true)
  {
    echo '<?xml version="1.0" encoding="UTF-8"?>'
    echo '<testsuites>'
    printf '  <testsuite name="lockstep trial" tests="%s" failures="%s" errors="%s">\n' "$cases" "$failures" "$errors"
    cat "$work/cases"
    printf '  </testsuite>\n</testsuites>\n'
  } >"$OUT/trial.xml"
  {
    if [ "$1" -eq 0 ]; then echo '### Trial on a twin: kept'; else echo '### Trial on a twin: failed'; fi
    printf '\n| step | result | time |\n|---|---|---|\n'
    cat "$work/rows"
    if [ -s "$OUT/trial.json" ]; then
      printf '\n| SLO | verdict | actual |\n|---|---|---|\n'
      slo_rows || true
    fi
    echo
    [ ! -s "$work/plan" ] || page_block 'Plan, with what needs approval' 150 <"$work/plan"
    [ "$1" -eq 0 ] || page_block 'What failed' 60 <"$work/log"
  } >"$OUT/trial.md"
  to_summary "$OUT/trial.md"
  exit "$1"
}

step 'new specs are valid' "$LOCKSTEP" validate "$SPECS"
if former_specs "$work/base"; then
  cp -r "$work/base/$SPECS" "$specs"
  step 'twin is up' "$LOCKSTEP" twin up --link-rate "${LINK_RATE:-200Mbps}" "$specs"
  step 'former specs are applied' apply_former
  rm -r "$specs"
fi
cp -r "$SPECS" "$specs"
step 'twin has the new devices and cables' "$LOCKSTEP" twin up --link-rate "${LINK_RATE:-200Mbps}" "$specs"
"$LOCKSTEP" plan --twin "$specs" >"$work/plan" 2>&1 || true  # its exit code only says that there is something to do
step 'new specs are applied, and their SLOs hold' apply_new
step 'nothing differs afterwards' "$LOCKSTEP" drift --twin "$specs"
finish 0
