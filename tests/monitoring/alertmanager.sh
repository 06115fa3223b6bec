#!/bin/sh
# alertmanager.sh CACHE FOLDER ARGUMENT...: Debian's Alertmanager from where prometheus.sh unpacked it. It reads its templates from
# /usr/share/prometheus, which is nowhere but in a mount namespace of its own; FOLDER is empty. Needs root.
set -eu
if [ "${IN_NAMESPACE:-no}" = no ]; then
  IN_NAMESPACE=yes exec unshare --mount "$0" "$@"
fi
cache=$1 folder=$2
shift 2
mount --bind /usr/share "$folder"
mount -t tmpfs tmpfs /usr/share
ln -s "$folder"/* /usr/share
ln -sfn "$cache/root/usr/share/prometheus" /usr/share/prometheus
exec "$cache/root/usr/bin/prometheus-alertmanager" "$@"
