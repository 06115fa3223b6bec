#!/usr/bin/env bash
# man.sh LOCKSTEP: checks that man(1) formats each generated manual page without a warning.
set -euo pipefail
. "$(dirname "$0")/../needs.sh"
command -v man >/dev/null && command -v groff >/dev/null ||
  not_tested_but_on_ci "manual pages are formatted by man-db and groff"
pages=$(mktemp -d)
trap 'rm -rf "$pages"' EXIT
"$1" generate man-pages "$pages"
[ -s "$pages/lockstep.1" ] && [ -s "$pages/lockstep-plan.1" ] || { echo "pages are missing"; exit 1; }
code=0
for page in "$pages"/*.1; do
  # Warnings go to stderr. The width is that of a terminal, so that lines too long for it are reported.
  said=$(LC_ALL=C.UTF-8 MANROFFSEQ='' MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null) || code=1
  [ -z "$said" ] || { echo "$(basename "$page"): $said"; code=1; }
done
shown=$(LC_ALL=C.UTF-8 MANWIDTH=80 man -l "$pages/lockstep-plan.1" 2>/dev/null | col -b)
for word in '--only' 'EXIT STATUS' 'lockstep plan --twin'; do
  grep -q -e "$word" <<<"$shown" || { echo "lockstep-plan.1 has no $word"; code=1; }
done
exit $code
