#!/usr/bin/env bash
# install.sh [twin]: installs lockstep on a Debian 12 runner or container, as root; with `twin` also what a twin needs.
# Settings (environment): LOCKSTEP_DEB: file or https URL of the Debian package; LOCKSTEP_DEB_SHA256: its checksum.
set -euo pipefail
: "${LOCKSTEP_DEB:?file or https URL of the package}" "${LOCKSTEP_DEB_SHA256:?checksum of the package}"
packages=(ca-certificates curl git jq)
[ "${1:-}" != twin ] || packages+=(frr iproute2 lldpd)

export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -qq --no-install-recommends "${packages[@]}" >/dev/null
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
case $LOCKSTEP_DEB in
  https://*) curl --silent --show-error --fail --location --proto '=https' --output "$work/lockstep.deb" "$LOCKSTEP_DEB" ;;
  *) cp "$LOCKSTEP_DEB" "$work/lockstep.deb" ;;
esac
echo "$LOCKSTEP_DEB_SHA256  $work/lockstep.deb" | sha256sum --check --quiet
chmod -R a+rX "$work"  # apt reads the file as another user
apt-get install -qq --no-install-recommends "$work/lockstep.deb" >/dev/null
# In a container the work tree has another owner than this user, and git refuses to read it (git-config(1), safe.directory).
git config --global --add safe.directory "$PWD"
lockstep --version
