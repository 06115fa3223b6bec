#!/usr/bin/env bash
# package.sh BUILD: makes the Debian package of a build, checks it with lintian, and installs it in a bare Debian 12 root
# that shares nothing with this machine. The program, its manual, examples and completion must work there without a
# compiler. KEEP=FOLDER keeps that root in FOLDER. Needs root and Debian's archive.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/needs.sh"
build=$(realpath "$1")
[ "$(id -u)" -eq 0 ] || not_tested_but_on_ci "a bare Debian is made by root"
for program in lintian mmdebstrap dpkg-shlibdeps; do
  command -v $program >/dev/null || not_tested_but_on_ci "the package is tested with $program"
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=${KEEP:-$work/root}
rm -f "$build"/lockstep_*.deb
cmake --build "$build" --target deb >"$work/cpack.log" 2>&1 || { cat "$work/cpack.log"; exit 1; }
package=$(echo "$build"/lockstep_*.deb)

echo "== lintian"
lintian --allow-root --fail-on error,warning --tag-display-limit 0 "$package"
for field in Depends Recommends; do dpkg-deb --field "$package" $field >"$work/$field"; done
grep -q libfmt "$work/Depends" && grep -q libsqlite3-0 "$work/Depends" && grep -q libcurl4 "$work/Depends" || { echo "Depends lacks libraries"; exit 1; }
for name in frr lldpd iproute2; do grep -qw $name "$work/Recommends" || { echo "Recommends lacks $name"; exit 1; }; done

echo "== a bare Debian"
if ! mmdebstrap --variant=minbase --include=man-db,bash-completion,ca-certificates \
    --customize-hook="copy-in $package /tmp" \
    --customize-hook='chroot "$1" sh -c "apt-get install -y --no-install-recommends /tmp/lockstep_*.deb"' \
    --skip=cleanup/apt/lists bookworm "$root" >"$work/mmdebstrap.log" 2>&1; then
  tail -n 20 "$work/mmdebstrap.log"
  grep -qE 'Temporary failure|Could not resolve|Unable to connect' "$work/mmdebstrap.log" &&
    not_tested_but_on_ci "Debian's archive is out of reach"
  exit 1
fi

# Runs in its own namespaces, so that mounts disappear with them.
inside() { unshare --mount --pid --fork --mount-proc="$root/proc" chroot "$root" env PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"; }
fails() { echo "FAILED: $*"; exit 1; }

for compiler in cc gcc g++ clang; do inside sh -c "command -v $compiler" && fails "there is a compiler: $compiler"; done
version=$(inside lockstep --version)
packaged=$(dpkg-deb --field "$package" Version)
[[ $version == "lockstep ${packaged%-*} (commit "* ]] || fails "$version is in the package of $packaged"
inside lockstep validate /usr/share/doc/lockstep/examples/rail-pod || fails "validate"
page=$(inside env MANWIDTH=80 LC_ALL=C.UTF-8 man lockstep)
grep -q "EXIT STATUS" <<<"$page" || fails "man lockstep"
page=$(inside env MANWIDTH=80 LC_ALL=C.UTF-8 man lockstep-apply)
grep -q -e --approve <<<"$page" || fails "man lockstep-apply"
inside bash -c '. /usr/share/bash-completion/completions/lockstep && complete -p lockstep' || fails "completion"
for file in copyright changelog.Debian.gz changelog.gz README.md docs/spec-reference.md docs/troubleshooting.md \
    examples/ci/README.md examples/ci/check.sh examples/ci/gitlab/gitlab-ci.yml \
    docs/alerts.md monitoring/lockstep.rules.yml monitoring/lockstep-dashboard.json; do
  [ -s "$root/usr/share/doc/lockstep/$file" ] || fails "there is no $file"
done
# Without FRR the quickstart reports what to install, and starts nothing.
if said=$(inside /usr/share/doc/lockstep/examples/quickstart.sh 2>&1); then fails "the quickstart runs without FRR"; fi
grep -q "apt-get install frr" <<<"$said" || fails "$said"
inside dpkg --purge lockstep >/dev/null && inside sh -c '! command -v lockstep' || fails "purge"
echo "passed"
