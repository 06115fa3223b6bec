#!/usr/bin/env bash
# machine.sh TEST KERNEL METAPACKAGE OUT LOCKSTEP AGENT: makes a machine with systemd, lockstep-agent under its unit and the service
# with its units, and runs TEST (agent_test.py, service_test.py), which starts it under the kernel in KERNEL (kernel.sh). Exit code: 0,
# 77 (skipped) or 1. OUT keeps the consoles.
#
# Its root is this Debian's own packages, copied file by file, which takes seconds; a bare Debian takes a minute and an
# archive. It is a disk and not an initial RAM disk, so that what was written is there after a restart.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
source=$(realpath "$here/../../..")
. "$source/tests/needs.sh"
. "$here/../root.sh"
test=$here/$1 kernel=$(realpath -m "$2") out=$(realpath -m "$4") lockstep=$(realpath "$5") agent=$(realpath "$6")
[ "$(id -u)" -eq 0 ] || not_tested_but_on_ci "a machine's disk is made by root"
"$here/../kernel.sh" "$kernel" "$3"

packages=(base-files base-passwd bash coreutils curl dbus dbus-daemon dbus-system-bus-common ethtool grep iproute2 kmod libpam-modules mount
          pciutils procps sed systemd util-linux)
for package in "${packages[@]}"; do
  dpkg-query --show "$package" >/dev/null 2>&1 || not_tested_but_on_ci "the machine is made of this one's packages, and $package is missing"
done

rm -rf "$out"
root=$out/root
mkdir -p "$out/specs" "$root"/{dev,proc,root,run,sys,tmp,usr/{bin,sbin,lib,lib64}}
mkdir -p "$root"/etc/{lockstep,modules-load.d,systemd/system/multi-user.target.wants}
for folder in bin sbin lib lib64; do ln -s "usr/$folder" "$root/$folder"; done
dpkg -L "${packages[@]}" | grep -Ev '^/usr/share/(bug|doc|info|lintian|locale|man|polkit-1|zsh)/|^/([.]|bin|sbin|lib|lib64)$' |
  sort -u | while read -r file; do [ ! -e "$file" ] || echo "${file#/}"; done |
  tar -C / -c --no-recursion -T - | tar -C "$root" -x --keep-directory-symlink
install -s "$agent" "$root/usr/sbin/lockstep-agent"
install -s "$lockstep" "$root/usr/bin/lockstep"
install "$here/channel" "$here/network" "$root/usr/sbin/"
find "$root/usr" -type f \( -perm -u+x -o -name '*.so*' \) -print0 |
  xargs -0 bash -c '. "$0" && copy_libraries "$@"' "$here/../root.sh" "$root"
copy_modules "$kernel" "$root" virtio_net virtio_console e1000e autofs4 configfs sch_ingress cls_bpf
depmod -b "$root" "$(cat "$kernel/version")"

# Without a machine id systemd takes each start for the first one.
echo gpu1 >"$root/etc/hostname"
echo 4c6f636b737465702d746573742d3031 >"$root/etc/machine-id"
printf 'virtio_net\nvirtio_console\ne1000e\n' >"$root/etc/modules-load.d/machine.conf"
printf 'passwd: files\ngroup: files\n' >"$root/etc/nsswitch.conf"
for database in passwd group; do
  { cat "/usr/share/base-passwd/$database.master"; getent "$database" messagebus systemd-journal || true; } >"$root/etc/$database"
done
units=$root/etc/systemd/system
for unit in getty.target systemd-{binfmt,firstboot,journal-flush,logind,random-seed,sysusers}.service \
            systemd-{update-utmp,update-utmp-runlevel,user-sessions}.service; do
  ln -s /dev/null "$units/$unit"
done
cp "$here"/{channel,network,fabric-helper}.service "$units/"
cp "$source"/packaging/lockstep{-agent.service,.service,.socket} "$root/usr/lib/systemd/system/"
install -D -m644 "$source/packaging/lockstep.catalog" "$root/usr/lib/systemd/catalog/lockstep.catalog"
# As systemctl enable does it.
ln -s /etc/systemd/system/{channel,network}.service /lib/systemd/system/lockstep-agent.service "$units/multi-user.target.wants/"
ln -s /lib/systemd/system/multi-user.target "$units/default.target"

{
  "$lockstep" ca init "$out/ca" --cluster lab
  "$lockstep" ca issue "$out/ca" --role controller --name controller --out "$out/controller"
  "$lockstep" ca issue "$out/ca" --role device --name gpu1 --ip 127.0.0.1 --out "$root/etc/lockstep"
  "$lockstep" ca issue "$out/ca" --role service --name api --ip 127.0.0.1 --out "$root/etc/lockstep"
} >"$out/ca.log"
for folder in "$out/controller" "$root/etc/lockstep"; do cp "$out"/ca/ca.{crt,crl} "$folder/"; done
cp "$here"/{agent,host}.yaml "$root/etc/lockstep/"
cp "$here/pod.yaml" "$out/specs/"
install -D -m600 -t "$root/etc/lockstep/pki" "$out"/controller/*
install -D -m644 -t "$root/srv/specs" "$here/service_specs.yaml"
"$lockstep" lock "$root/srv/specs" >"$out/lock.log"
cp "$here/serve.yaml" "$root/etc/lockstep/"
echo "test:viewer:$(printf %s a-token-of-the-test | sha256sum | cut -d' ' -f1)" >"$root/etc/lockstep/tokens"
chmod 600 "$root/etc/lockstep/tokens"
install -D -m644 "$here/lockstep.conf" "$units/lockstep.service.d/test.conf"
truncate -s 512M "$out/disk"
mke2fs -q -t ext4 -d "$root" "$out/disk"

initial=$out/initial
mkdir -p "$initial"/{bin,usr/lib}
ln -s usr/lib "$initial/lib"
cp /bin/busybox "$initial/bin/"
cp "$here/init" "$initial/init"
copy_modules "$kernel" "$initial" virtio_pci virtio_blk crc32c_generic ext4
depmod -b "$initial" "$(cat "$kernel/version")"
(cd "$initial" && find . -print0 | cpio --null -o -H newc --quiet) >"$out/initrd"
rm -rf "$root" "$initial"

# In a network namespace of its own, where no port is in use.
exec unshare --net sh -c 'ip link set lo up && exec python3 -B "$@"' sh "$test" "$out" "$lockstep" "$kernel/vmlinux"
