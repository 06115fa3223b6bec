#!/bin/sh
# run.sh TEST ARGUMENTS...: runs a test of this folder with Debian's Python, whose packages cmake/install-packages.sh installs.
set -eu
here=$(dirname "$0")
. "$here/../needs.sh"
/usr/bin/python3 -c 'import jsonschema, yaml' && command -v git jq curl cmark-gfm xmllint >/dev/null ||
  not_tested_but_on_ci "examples/ci needs git, jq and curl, and its tests python3-jsonschema, python3-yaml, cmark-gfm and xmllint"
test=$1
shift
exec /usr/bin/python3 -B "$here/$test" "$@"
