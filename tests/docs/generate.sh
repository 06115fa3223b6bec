#!/usr/bin/env bash
# generate.sh [--check] LOCKSTEP: writes the pages of docs/ that are generated from the program's own tables. With --check it
# only reports whether the committed pages are up to date.
set -euo pipefail
check=false
[ "${1:-}" = --check ] && check=true && shift
binary=$(realpath "$1")
cd "$(dirname "$0")/../.."
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT

# A field's example comes from the first of these specs that sets the field.
"$binary" generate spec-reference examples/rail-pod tests/cases/language/design-page tests/cases/compile/every-kind \
  tests/cases/compile/roce-model tests/cases/compile/inventory \
  tests/cases/language/every-field >"$made/spec-reference.md"
"$binary" generate troubleshooting tests/codes tests/cases/prove >"$made/troubleshooting.md"
"$binary" generate api-reference >"$made/api.md"

code=0
for page in spec-reference troubleshooting api; do
  if ! $check; then
    cp "$made/$page.md" "docs/$page.md"
  elif ! diff -u "docs/$page.md" "$made/$page.md" | head -n 40; then
    echo "docs/$page.md is not what the program's tables give: run tests/docs/generate.sh $binary" >&2
    code=1
  fi
done
exit $code
