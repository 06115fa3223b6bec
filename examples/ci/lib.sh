# shellcheck shell=bash
# Sourced by the scripts beside it. What they have in common: the settings, the former version of the specs, and texts that
# are safe to show in a page.
set -euo pipefail

LOCKSTEP=${LOCKSTEP:-lockstep}  # the program
SPECS=${SPECS:-specs}           # folder of specs, from the top of the repository
OUT=${OUT:-lockstep-ci}         # folder that gets the reports

fail() {
  echo "error: $*" >&2
  exit 1
}

# former_specs FOLDER: checks out the commit BASE into FOLDER, without a change to the work tree. Returns 1 if there are no
# valid specs in it, so that there is nothing to compare with.
former_specs() {
  [ -n "${BASE:-}" ] || fail "BASE is not set: the commit that the change is compared with"
  # A shallow clone may lack it.
  git cat-file -e "$BASE^{commit}" 2>/dev/null || git fetch --quiet --depth=1 origin "$BASE" ||
    fail "commit $BASE is neither in this clone nor at its origin"
  git worktree add --quiet --force --detach "$1" "$BASE" || fail "commit $BASE can't be checked out"
  [ -d "$1/$SPECS" ] && "$LOCKSTEP" validate "$1/$SPECS" >/dev/null 2>&1
}

no_former_specs() {
  [ ! -d "$1" ] || git worktree remove --force "$1"
}

# Text as XML or HTML: without markup, without control characters and colors.
markup() {
  sed -e 's/\x1b\[[0-9;]*m//g' -e 's/&/\&amp;/g' -e 's/</\&lt;/g' -e 's/>/\&gt;/g' -e 's/"/\&quot;/g' |
    LC_ALL=C tr -d '\000-\010\013-\037'
}

# page_block TITLE LINES: the first LINES lines of standard input, and at most 250 bytes for each of them together, as a block of
# a Markdown page that can be unfolded.
page_block() {
  printf '<details><summary>%s</summary>\n\n<pre>\n' "$1"
  jq -Rr '.[:300]' | markup | LC_ALL=C awk -v most="$2" '
    NR <= most && (size += length($0) + 1) <= most * 250 { shown++; print }
    END { if (NR > shown) print "and " NR - shown " more lines, in the log" }'
  printf '</pre>\n\n</details>\n'
}

# to_summary FILE: shows a page as the summary of the job on GitHub, which refuses more than 1 MiB.
to_summary() {
  [ -z "${GITHUB_STEP_SUMMARY:-}" ] || cat "$1" >>"$GITHUB_STEP_SUMMARY"
}
