#!/usr/bin/env bash
# Records the block trace of the demo: PostgreSQL under pgbench, on ext4 over loop over nbdfuse over nbdkit's log filter.
# Needs root, /dev/fuse, loop devices and the tools checked below. Usage: tools/record-trace.sh OUTPUT.iolog.zst
set -euo pipefail
output=${1:?usage: tools/record-trace.sh OUTPUT.iolog.zst}
here=$(cd "$(dirname "$0")" && pwd)
size=1G
scale=${SCALE:-10}
seconds=${SECONDS_OF_LOAD:-40}

for tool in nbdkit nbdfuse losetup mkfs.ext4 fstrim zstd python3 runuser; do
  command -v "$tool" >/dev/null || { echo "record-trace: $tool is missing; on Debian: apt-get install nbdkit libnbd-bin fuse3 postgresql zstd" >&2; exit 2; }
done
binaries=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
[ -x "$binaries/initdb" ] || { echo "record-trace: PostgreSQL's server is missing; on Debian: apt-get install postgresql" >&2; exit 2; }

folder=$(mktemp -d)
chmod 755 "$folder"
mkdir "$folder/fuse" "$folder/mount"
server='' fuse='' loop='' database=''
cleanup() {
  set +e
  [ -n "$database" ] && runuser -u postgres -- "$binaries/pg_ctl" -D "$folder/mount/data" -m immediate stop >/dev/null 2>&1
  mountpoint -q "$folder/mount" && umount "$folder/mount"
  [ -n "$loop" ] && losetup -d "$loop"
  mountpoint -q "$folder/fuse" && umount "$folder/fuse"
  [ -n "$fuse" ] && kill "$fuse" 2>/dev/null
  [ -n "$server" ] && kill "$server" 2>/dev/null
  rm -rf "$folder"
}
trap cleanup EXIT

nbdkit --foreground --unix "$folder/socket" --filter=log memory "$size" logfile="$folder/log" &
server=$!
for _ in $(seq 50); do [ -S "$folder/socket" ] && break; sleep 0.1; done
nbdfuse "$folder/fuse/disk" --unix "$folder/socket" &
fuse=$!
for _ in $(seq 50); do [ -e "$folder/fuse/disk" ] && break; sleep 0.1; done
loop=$(losetup -f --show --direct-io=on -b 4096 "$folder/fuse/disk")
mkfs.ext4 -q "$loop"
mount -o discard,noatime "$loop" "$folder/mount"
mkdir "$folder/mount/data"
chown postgres "$folder/mount/data"

as_postgres() { runuser -u postgres -- "$@"; }
as_postgres "$binaries/initdb" -D "$folder/mount/data" --no-instructions >/dev/null
cat >> "$folder/mount/data/postgresql.conf" <<CONF
listen_addresses = ''
unix_socket_directories = '$folder/mount/data'
shared_buffers = 16MB
checkpoint_timeout = 30s
max_wal_size = 96MB
min_wal_size = 32MB
wal_recycle = off
CONF
as_postgres "$binaries/pg_ctl" -D "$folder/mount/data" -w -l "$folder/mount/data/log" start >/dev/null
database=running
export PGHOST="$folder/mount/data"
as_postgres env PGHOST="$PGHOST" "$binaries/pgbench" -q -i -s "$scale" postgres 2>/dev/null
sync
fstrim "$folder/mount"
as_postgres env PGHOST="$PGHOST" "$binaries/pgbench" -c 2 -T "$seconds" -R "${RATE:-120}" postgres >/dev/null 2>&1
as_postgres env PGHOST="$PGHOST" "$binaries/psql" -q -c 'VACUUM' -c 'CREATE TABLE copy AS SELECT * FROM pgbench_accounts' -c 'CHECKPOINT' -c 'DROP TABLE copy' -c 'CHECKPOINT' postgres
sync
fstrim "$folder/mount"
as_postgres "$binaries/pg_ctl" -D "$folder/mount/data" -m fast -w stop >/dev/null
database=''
umount "$folder/mount"
losetup -d "$loop"; loop=''
umount "$folder/fuse"; fuse=''
kill "$server"; wait "$server" 2>/dev/null || true; server=''
python3 "$here/nbdkit-log-to-iolog.py" "$folder/log" | zstd -19 -q -f -o "$output"
ls -l "$output"
