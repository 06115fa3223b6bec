#!/usr/bin/env bash
# check.sh: checks the specs of a change, and writes what it changes as one page. Needs neither root nor devices.
# Settings (environment): SPECS, OUT, LOCKSTEP (lib.sh); BASE: the commit to compare with.
# Writes to OUT: change.md, the page; on GitLab codequality.json. On GitHub it prints annotations, and adds the page to the
# summary of the job.
# Exit codes: 0: the specs are valid, and allocations.lock is up to date. 1: they are not.
here=$(dirname "$0")
# shellcheck source=lib.sh
. "$here/lib.sh"

mkdir -p "$OUT"
rm -f "$OUT/change.md" "$OUT/codequality.json"
work=$(mktemp -d)
trap 'no_former_specs "$work/base"; rm -rf "$work"' EXIT

# The text for people is on standard error.
validate() { "$LOCKSTEP" validate --strict --locked --format "$1" "$SPECS" 2>"$work/errors"; }
valid=0
if [ -n "${GITLAB_CI:-}" ]; then
  validate gitlab >"$OUT/codequality.json" || valid=$?
else
  validate github || valid=$?
fi
cat "$work/errors" >&2

{
  if [ "$valid" -ne 0 ]; then
    echo '### The specs are not valid'
    echo
    page_block 'What is wrong' 60 <"$work/errors"
  elif former_specs "$work/base"; then
    differ=0
    "$LOCKSTEP" diff --format markdown "$work/base/$SPECS" "$SPECS" || differ=$?
    [ "$differ" -eq 0 ] || [ "$differ" -eq 2 ] || fail "the two versions of the specs could not be compared"
  else
    echo '### New specs'
    echo
    echo 'The target branch has no valid specs to compare with.'
  fi
} >"$work/change.md"
mv "$work/change.md" "$OUT/change.md"
to_summary "$OUT/change.md"
[ "$valid" -eq 0 ] || exit 1
