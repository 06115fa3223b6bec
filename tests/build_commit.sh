#!/usr/bin/env bash
# build_commit.sh SOURCES: tests the commit that a build reports: that of the checkout, with -dirty if a tracked file
# differs; none for sources without git or unpacked inside another project's checkout. An unchanged file is not rewritten.
set -euo pipefail
script=$1/cmake/BuildCommit.cmake
work=$(realpath "$(mktemp -d)")
trap 'rm -rf "$work"' EXIT
git() { command git -c user.name=t -c user.email=t@example.org -c init.defaultBranch=main -C "$work/tree" "$@" >/dev/null; }
expect() {
  cmake -D SOURCE="$1" -D OUTPUT="$work/out.cpp" -P "$script"
  grep -qE "return \"$2\";" "$work/out.cpp" || { echo "of $1: expected $2, got:"; cat "$work/out.cpp"; exit 1; }
}

mkdir -p "$work/tree/unpacked"
expect "$work/tree" ''
git init
echo 1 >"$work/tree/file"
git add file
git commit -m one
expect "$work/tree" '[0-9a-f]{12}'
touch -d '2020-01-01' "$work/out.cpp"
expect "$work/tree" '[0-9a-f]{12}'
[ "$(stat -c %Y "$work/out.cpp")" = "$(date -d 2020-01-01 +%s)" ] || { echo "written anew without a change"; exit 1; }
echo 2 >"$work/tree/file"
expect "$work/tree" '[0-9a-f]{12}-dirty'
expect "$work/tree/unpacked" ''
