#!/bin/sh
# run.sh PRINT_API: runs check_openapi.py with Debian's Python, whose packages cmake/install-packages.sh installs.
set -eu
here=$(dirname "$0")
. "$here/../needs.sh"
/usr/bin/python3 -c 'import jsonschema' ||
  not_tested_but_on_ci "the OpenAPI document by a JSON Schema validator needs python3 and python3-jsonschema"
exec /usr/bin/python3 -B "$here/check_openapi.py" "$@"
