#!/usr/bin/env bash
# Tool      fio 3.33 (Debian bookworm, 3.33-3), read_iolog of version 2; 3.25 (bullseye) and 3.41 (forky) do the same
# Guess     As this version's manual says: "FILE wait N" waits for N microseconds, counted from the wait before.
# Seen      N is a time in milliseconds since fio began. `wait 3000 0` makes the next request come when fio has run for 3 s; a second one of
#           3000 waits no more, one of 5000 for 2 s. A line without a fourth word is "bad iolog2" and is passed over, exit status 0.
# Matters   A log whose waits are as the manual has them is replayed at other times, or without any. Version 3 has times on each line.
set -euo pipefail
TEMP=$(mktemp -d)
trap 'rm -rf "$TEMP"' EXIT
source "$(dirname "$0")/lib/common.bash"

unpack bookworm fio=3.33-3
cd "$TEMP"
truncate -s 1M disk
manual() { zcat "$ROOT/usr/share/man/man1/fio.1.gz" | tr '\n' ' ' | grep -c "$1"; }
expect 'the manual: microseconds' "$(manual "Wait for .offset' microseconds")" 1
expect 'the manual: from the wait before' "$(manual 'The time is relative to the previous .wait')" 1
# replayed WAIT...: reads, each after a wait; how long they took, exit status, complaints. fio begins the job up to a second after itself.
replayed() {
    local status=0 number=0
    printf '%s\n' 'fio version 2 iolog' 'disk add' 'disk open' 'disk read 0 4096' >log
    for wait in "$@"; do printf '%s\n' "disk wait $wait" "disk read $((number += 4096)) 4096" >>log; done
    echo 'disk close' >>log
    tool fio --name=r --ioengine=psync --read_iolog=log --output-format=json --output=json 2>errors || status=$?
    python3 -c '
import json, sys
text = open("json").read()
job = json.loads(text[text.index("{"):])["jobs"][0]
print(job["read"]["total_ios"], "reads in at most", -(-job["job_runtime"] // 1000), "s, exit", sys.argv[1] + ",",
      (text + open("errors").read()).count("bad iolog2"), "bad")' "$status"
}
expect 'wait 3000 0' "$(replayed '3000 0')" '2 reads in at most 3 s, exit 0, 0 bad'
expect 'two of them' "$(replayed '3000 0' '3000 0')" '3 reads in at most 3 s, exit 0, 0 bad'
expect 'wait 3000 0 and wait 5000 0' "$(replayed '3000 0' '5000 0')" '3 reads in at most 5 s, exit 0, 0 bad'
expect 'wait 3000, as the manual has it' "$(replayed 3000)" '2 reads in at most 0 s, exit 0, 1 bad'
