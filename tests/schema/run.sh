#!/bin/sh
# run.sh LOCKSTEP SOURCES: runs check_schemas.py with Debian's Python, whose packages cmake/install-packages.sh installs.
set -eu
here=$(dirname "$0")
. "$here/../needs.sh"
/usr/bin/python3 -c 'import jsonschema, yaml' ||
  not_tested_but_on_ci "lockstep schema by a JSON Schema validator needs python3, python3-jsonschema and python3-yaml"
exec /usr/bin/python3 "$here/check_schemas.py" "$@"
