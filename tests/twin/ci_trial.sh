#!/usr/bin/env bash
# examples/ci on real twins: a change that holds is kept, one that breaks an SLO fails the trial, and in either case, also after
# kill -9, nothing is left behind; drift.sh reports what really differs. The oracles are ip(8), git, an XML
# parser, and the schemas of those who read the reports where they can be had (tests/ci/official.py).
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/twin/pod.sh
ci=$PWD/examples/ci sources=$PWD
export LOCKSTEP=$lockstep SPECS=specs OUT=out LINK_RATE=400Mbps  # a rate that two busy cores can sustain
fail() { echo "line ${BASH_LINENO[0]}: $1" >&2; exit 1; }

repository=$work/repository
git() { command git -C "$repository" -c user.name=test -c user.email=test@example.invalid "$@"; }
streams_alone all 300ms 80%
mkdir "$repository"
cp -r "$pod" "$repository/specs"
command git init --quiet "$repository"
git add --all && git commit --quiet -m former
sed -i 's/host: 9000/host: 8900/' "$repository/specs/fabric.yaml"
git commit --quiet -am 'a smaller MTU'
BASE=$(git rev-parse HEAD^1)
export BASE
cd "$repository"
down_again() {
  "$ci/trial.sh" down >/dev/null 2>&1 || true
  clean_up
}
trap down_again EXIT

# No pipes into `grep -q`: it ends at its first match, and what writes into it then fails (pipefail).
has_twin() {
  "$lockstep" twin list -o json >"$work/twins"
  grep -qF "$repository" "$work/twins"
}
nothing_is_left() {
  local folder=$repository/out/trial
  [ ! -e "$folder" ] || fail "$folder is left"
  ! has_twin || fail "a twin is left"
  ! pgrep -f "$repository/out/trial" >"$work/processes" || fail "processes are left: $(cat "$work/processes")"
  [ "$(git worktree list | wc -l)" -eq 1 ] || fail "a work tree is left"
}
# cases STATUS: the names of the cases of the JUnit report with that status, by an XML parser.
cases() {
  python3 - "$1" out/trial.xml <<'PY'
import sys
import xml.etree.ElementTree as tree
suite = tree.parse(sys.argv[2]).getroot()[0]
cases = suite.findall("testcase")
counts = {"tests": len(cases)} | {key + "s": len(suite.findall(f"testcase/{key}")) for key in ("failure", "error")}
assert all(int(suite.get(key)) == count for key, count in counts.items()), (suite.attrib, counts)
for one in cases:
    if ([child.tag for child in one] or ["passed"]) == [sys.argv[1]]:
        print(one.get("name"))
PY
}

echo "== a change that holds"
expect 0 "$ci/trial.sh"
nothing_is_left
[ "$(cases failure; cases error)" = "" ] || fail "a case failed"
cases passed >"$work/passed"
for name in 'former specs are applied' 'new specs are applied, and their SLOs hold' 'pairs: bandwidth min >= 80% of nominal'; do
  grep -qxF "$name" "$work/passed" || fail "no case is called $name"
done
grep -qF '### Trial on a twin: kept' out/trial.md || fail "the page does not say so"
grep -qF -e '--approve approval:traffic' out/trial.md || fail "the page does not say what needs approval"
cp out/trial.xml "$work/kept.xml"

echo "== a change that breaks an SLO"
sed -i 's|^    - {from: "leaf\[0-1\]:up\[0-1\]".*|    - {from: "leaf[0-1]:up1", to: "spine1:down[0-1]", by: mesh, speed: 400Gbps, cableLength: 40m}\
    - {from: "leaf1:up0", to: "spine0:down1", by: pairs, speed: 400Gbps, cableLength: 40m}\
    - {from: "leaf0:up0", to: "spine0:down0", by: pairs, speed: 40Gbps, cableLength: 40m}|' specs/fabric.yaml
git commit --quiet -am 'a slow uplink'
BASE=$(git rev-parse HEAD^1)
expect 1 "$ci/trial.sh"
nothing_is_left
cases failure >"$work/failed"
grep -qxF 'new specs are applied, and their SLOs hold' "$work/failed" || fail "no failure of the step"
cases passed >"$work/passed"
grep -qxF 'former specs are applied' "$work/passed" || fail "the former specs are blamed"
grep -qF '### Trial on a twin: failed' out/trial.md || fail "the page does not say so"
cp out/trial.xml "$work/failed.xml"

echo "== a trial that is killed"
"$ci/trial.sh" >"$work/killed" 2>&1 &
trial=$!
until pgrep -f "apply .*$repository/out/trial" >/dev/null; do
  kill -0 $trial || { cat "$work/killed"; fail "it ended too early"; }
  read -rt 0.1 <> <(:) || true
done
has_twin || fail "there is no twin"
twin=$(jq -r --arg top "$repository" '.twins[] | select(.folder | startswith($top)).name' "$work/twins")
kill -KILL $trial
wait $trial || true
expect 0 "$ci/trial.sh" down
nothing_is_left
ip netns list >"$work/namespaces"
! grep -F "ls-$twin-" "$work/namespaces" || fail "a namespace is left"

echo "== drift of a twin"
"$lockstep" twin up --link-rate 400Mbps "$repository/specs"
twin_down() {
  "$lockstep" twin down "$repository/specs" >/dev/null 2>&1 || true
  down_again
}
trap twin_down EXIT
expect 0 "$lockstep" apply --twin --yes $approve --no-measure specs
expect 0 "$ci/drift.sh" --twin
[ "$(jq '.runs[0].results | length' out/drift.sarif)" -eq 0 ] || fail "results of what is in sync"
[ "$(jq length out/codequality.json)" -eq 0 ] || fail "findings of what is in sync"
"$lockstep" twin exec specs gpu1 -- ip link set rail0 mtu 1500
expect 2 "$ci/drift.sh" --twin
jq -e '.runs[0].results[] | select(.message.text | contains("gpu1 interface[rail0]/mtu: desired 8900, actual 1500"))
  | .locations[0].physicalLocation | .artifactLocation.uri == "specs/fabric.yaml"' out/drift.sarif >/dev/null ||
  fail "the difference has no result at its line"
code=0
python3 -B "$sources/tests/ci/reports.py" "${LOCKSTEP_SCHEMAS:-$work/schemas}" "$work/kept.xml" "$work/failed.xml" out/drift.sarif \
  out/drift.xml out/codequality.json || code=$?
[ $code -eq 0 ] || [ $code -eq 77 ] || fail "a report is invalid"
echo "examples/ci does on twins what it says"
