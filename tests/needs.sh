# Sourced by shell tests: skips or fails a test that can't run on this machine (the rule is in tests/needs.hpp).
# CTest treats exit code 77 as skipped (SKIP_RETURN_CODE).

# not_tested WHY...: skips the test; the machine lacks a kernel feature, a device or an optional tool.
not_tested() {
  echo "not tested: $*"
  exit 77
}

# not_tested_but_on_ci WHY...: root, or a package of cmake/install-packages.sh, is missing: fails on CI, skips elsewhere.
not_tested_but_on_ci() {
  [ "${CI:-false}" = false ] || { echo "this must run on CI: $*"; exit 1; }
  not_tested "$@"
}

# A twin consists of network namespaces and running daemons.
needs_twin() {
  [ "$(id -u)" -eq 0 ] || not_tested_but_on_ci "a twin needs root"
  [ -x /usr/lib/frr/bgpd ] && [ -x /usr/sbin/lldpd ] || not_tested_but_on_ci "a twin needs FRR and lldpd"
}
