#!/usr/bin/env bash
# Tool      fio 3.33 (Debian bookworm, 3.33-3), `write_iolog` and `read_iolog`; 3.41 (forky) replays the trims
# Guess     fio replays the log that it wrote itself.
# Seen      Of a log that fio wrote, of eight trims and eight writes, the replay has the writes alone: "bad ddir: 2" for each trim, zero trims in
#           the JSON, error 0, exit status 0. The log of a trace in blktrace's form is replayed with its trims by the same version.
# Matters   A converted trace loses its trims in Debian 12's fio, and the drive under it ages as if nothing were ever discarded.
set -euo pipefail
TEMP=$(mktemp -d)
trap 'rm -rf "$TEMP"' EXIT
source "$(dirname "$0")/lib/common.bash"

unpack bookworm fio=3.33-3
cd "$TEMP"
truncate -s 1M disk
tool fio --name=w --filename=disk --ioengine=null --rw=trimwrite --bs=4k --size=1M --number_ios=8 --write_iolog=log --output=/dev/null
expect 'trims and writes in the log' "$(grep -c ' trim ' log) $(grep -c ' write ' log)" '8 8'
status=0
tool fio --name=r --ioengine=null --read_iolog=log --output-format=json --output=json 2>errors || status=$?
expect 'trims and writes replayed, error' "$(python3 -c '
import json
text = open("json").read()
job = json.loads(text[text.index("{"):])["jobs"][0]
print(job["trim"]["total_ios"], job["write"]["total_ios"], job["error"])')" '0 8 0'
expect 'exit status' "$status" 0
expect 'the message' "$(cat errors json | grep 'bad ddir' | sort | uniq -c | xargs)" '8 bad ddir: 2'
