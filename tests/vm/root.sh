# Sourced by scripts that make the root of an emulated machine, in which /lib is /usr/lib.

# copy_modules KERNEL ROOT MODULE...: copies these kernel modules, and those that they need, from KERNEL (kernel.sh) to ROOT.
# modprobe follows neither soft dependencies nor those on a crypto algorithm by name.
copy_modules() {
  local kernel=$1 root=$2 release module file target
  shift 2
  release=$(cat "$kernel/version")
  mkdir -p "$root/usr/lib/modules/$release"
  for module in "$@"; do modprobe -d "$kernel" -S "$release" --show-depends "$module"; done |
    awk '$1 == "insmod" {print $2}' | sort -u | while read -r file; do
      target=$root/usr/lib/modules/${file#*/lib/modules/}
      install -D -m644 "$file" "$target"
      case $file in *.xz) xz -d "$target" ;; esac  # of a newer kernel: busybox's modprobe does not read it
    done
  cp "$kernel/lib/modules/$release"/modules.{builtin,builtin.modinfo,order} "$root/usr/lib/modules/$release/"
}

# copy_libraries ROOT PROGRAM...: copies the shared libraries that these programs and libraries need. ldd fails for those that
# need none.
copy_libraries() {
  local root=$1 file
  shift
  { ldd "$@" 2>/dev/null || true; } | grep -o '/[^ :]*\.so[^ :]*' | sort -u | while read -r file; do
    install -D -m755 "$file" "$root/$file"
  done
}
