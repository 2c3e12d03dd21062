#!/usr/bin/env bash
# Records the demo's block trace from a real program: PostgreSQL under pgbench on ext4 (-o discard), over a loop device,
# over nbdfuse, over nbdkit's memory disk, whose log filter sees every read, write, trim and flush that leaves the file
# system. Loading the database is not part of the trace: it starts on a freshly mounted, loaded one.
#
# Usage: tools/record-trace.sh OUTPUT.iolog.zst        as root
# Environment: SCALE (of pgbench, 36), ROUNDS (5), TRANSACTIONS (per client and round, 900), SIZE (of the disk, 1G)
set -euo pipefail

fail() { echo "record-trace: $*" >&2; exit 2; }

output=${1:-}
[ -n "$output" ] || fail "where should the trace go? usage: tools/record-trace.sh OUTPUT.iolog.zst"
tools=$(cd "$(dirname "$0")" && pwd)
scale=${SCALE:-36} rounds=${ROUNDS:-5} transactions=${TRANSACTIONS:-900} size=${SIZE:-1G}

need() { command -v "$1" >/dev/null || fail "$1 is missing; on Debian: apt-get install $2"; }
[ "$(id -u)" = 0 ] || fail "mounting and loop devices need root"
[ -c /dev/fuse ] || fail "/dev/fuse is missing; load the kernel's fuse module"
[ -c /dev/loop-control ] || fail "/dev/loop-control is missing; load the kernel's loop module"
need nbdkit nbdkit
need nbdfuse libnbd-bin
need fusermount3 fuse3
need mkfs.ext4 e2fsprogs
need losetup mount
need fstrim util-linux
need runuser util-linux
need zstd zstd
need python3 python3
postgres=$(find /usr/lib/postgresql -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -n 1)
[ -x "$postgres/initdb" ] && [ -x "$postgres/pgbench" ] || fail "PostgreSQL's server and pgbench are missing; on Debian: apt-get install postgresql"

work=$(mktemp -d)
disk=$work/fuse/disk mount=$work/mount data=$work/mount/data
server='' fuse='' loop='' database=''

cleanup() {
  set +e
  [ -z "$database" ] || as_postgres "$postgres/pg_ctl" -D "$data" -m immediate stop >/dev/null 2>&1
  ! mountpoint -q "$mount" || umount "$mount"
  [ -z "$loop" ] || losetup -d "$loop"
  ! mountpoint -q "$work/fuse" || fusermount3 -u "$work/fuse"
  [ -z "$fuse" ] || { kill "$fuse"; wait "$fuse"; } 2>/dev/null
  [ -z "$server" ] || { kill "$server"; wait "$server"; } 2>/dev/null
  mountpoint -q "$mount" || mountpoint -q "$work/fuse" || rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Waits for a path that a server is about to make.
appears() {
  for _ in $(seq 100); do [ ! -e "$1" ] || return 0; sleep 0.1; done
  fail "$2 did not start within 10 seconds"
}
as_postgres() { (cd / && runuser -u postgres -- env PGHOST="$work/run" "$@"); }
sql() { as_postgres "$postgres/psql" -q -v ON_ERROR_STOP=1 -c "$1" postgres; }
start() { as_postgres "$postgres/pg_ctl" -D "$data" -w -s -l "$data/server.log" start; database=running; }
stop() { as_postgres "$postgres/pg_ctl" -D "$data" -w -s -m fast stop; database=''; }

chmod 755 "$work"
mkdir "$work/fuse" "$mount" "$work/run"
chown postgres "$work/run"
nbdkit --foreground --unix "$work/socket" --filter=log memory "$size" logfile="$work/log" &
server=$!
appears "$work/socket" nbdkit
nbdfuse "$disk" --unix "$work/socket" &
fuse=$!
appears "$disk" nbdfuse
loop=$(losetup -f --show --direct-io=on -b 4096 "$disk")

# The file system's tables are written at once, so that no kernel thread fills them in during the recording.
mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 "$loop"
mount -o discard,noatime "$loop" "$mount"
mkdir "$data"
chown postgres "$data"
as_postgres "$postgres/initdb" -D "$data" -E UTF8 --locale=C --auth=trust --no-instructions >/dev/null
# Small buffers and little write-ahead log make a database of this size behave like a large one.
cat >> "$data/postgresql.conf" <<CONF
listen_addresses = ''
unix_socket_directories = '$work/run'
shared_buffers = 32MB
checkpoint_timeout = 30s
max_wal_size = 96MB
min_wal_size = 32MB
CONF
start
as_postgres "$postgres/pgbench" -q -i -s "$scale" postgres 2>/dev/null
stop
umount "$mount"
skip=$(wc -l < "$work/log")

# A fresh mount has an empty page cache and has forgotten what it trimmed: the recording starts with cold reads and a
# trim of all free space.
mount -o discard,noatime "$loop" "$mount"
fstrim "$mount"
start
for round in $(seq "$rounds"); do
  echo "record-trace: round $round of $rounds" >&2
  as_postgres "$postgres/pgbench" -n -c 2 -t "$transactions" --random-seed="$round" postgres >/dev/null 2>&1
  sql 'CREATE TABLE report AS SELECT bid, aid, abalance, filler FROM pgbench_accounts WHERE aid % 6 = 0'
  sql 'VACUUM pgbench_accounts'
  sql 'DROP TABLE report'
  sql 'REINDEX TABLE pgbench_accounts'
  sql 'CHECKPOINT'
done
stop
fstrim "$mount"
umount "$mount"

python3 "$tools/nbdkit-log-to-iolog.py" --skip-lines "$skip" "$work/log" > "$work/trace"
zstd -q --ultra -22 -f "$work/trace" -o "$work/trace.zst"
# Renamed into place: a reader never sees half a trace.
cp "$work/trace.zst" "$output.part"
mv "$output.part" "$output"
echo "record-trace: $(grep -c . "$work/trace") lines, $(stat -c %s "$output") bytes: $output" >&2
echo "record-trace: $("$postgres/postgres" --version), $(nbdkit --version), $(nbdfuse --version | head -n 1), Linux $(uname -r | cut -d. -f1,2)" >&2
[ -z "${KEEP_LOG:-}" ] || cp "$work/log" "$KEEP_LOG"
