#!/usr/bin/env bash
# Tool      fio 3.33 (Debian bookworm, 3.33-3), `zonemode=zbd` on a file or device without zones
# Guess     Random reads of a full file of 16 MiB read 16 MiB, in zones of 4 MiB as well.
# Seen      Nothing is read: no request, error 0, exit status 0, no message. fio starts such zones empty in each run, whatever the file
#           holds, and reads only below a write pointer of its own. A job of the same run that writes first makes the reads happen.
# Matters   A read benchmark in zones, prepared by a run before it, measures nothing and says so nowhere but in a zero.
set -euo pipefail
TEMP=$(mktemp -d)
trap 'rm -rf "$TEMP"' EXIT
source "$(dirname "$0")/lib/common.bash"

unpack bookworm fio=3.33-3
cd "$TEMP"
head -c 16M /dev/urandom >disk
COMMON=(--filename=disk --ioengine=psync --direct=0 --bs=64k --size=16M --output-format=json --output=json)
counts() {
    python3 -c '
import json
text = open("json").read()
for job in json.loads(text[text.index("{"):])["jobs"]:
    print(job["jobname"], job["read"]["io_bytes"], job["error"], end=" ")'
}
read_zones() {
    local status=0
    tool fio "${COMMON[@]}" --zonemode=zbd --zonesize=4M "$@" || status=$?
    echo "$(counts)exit $status"
}
expect 'reads without zones' "$(tool fio "${COMMON[@]}" --name=r --rw=randread && counts)" 'r 16777216 0 '
expect 'reads in zones of a full file' "$(read_zones --name=r --rw=randread)" 'r 0 0 exit 0'
expect 'after a job that writes' "$(read_zones --direct=1 --name=w --rw=write --name=r --stonewall --rw=randread)" 'w 0 0 r 16777216 0 exit 0'
