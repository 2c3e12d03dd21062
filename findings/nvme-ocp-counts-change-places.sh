#!/usr/bin/env bash
# Tool      nvme-cli 2.3 (Debian bookworm, 2.4+really2.3-3), `nvme ocp smart-add-log`, as text and as JSON; 2.13 (trixie, 2.13-2) is right
# Guess     "End to end corrected errors" of OCP's log page C0h are the errors that were corrected.
# Seen      The page has the count of detected errors in bytes 72 to 75, and the count of corrected ones behind it. 2.3 has each under the
#           other's name. The two keys also change their order between the versions, which tells the pages apart. Erase counts from
#           2^31 on are negative in 2.3's JSON.
# Matters   Of 1,000 detected errors with 100 corrected, 2.3 tells 100 detected and 1,000 corrected: no error seems to be left.
set -euo pipefail
TEMP=$(mktemp -d)
trap 'rm -rf "$TEMP"' EXIT
source "$(dirname "$0")/lib/common.bash"

drive
python3 - "$PAGES/logc0" <<'PAGE'
import struct
import sys

page = bytearray(512)
struct.pack_into("<II", page, 72, 1000, 100)  # end-to-end errors: detected, corrected
struct.pack_into("<II", page, 88, 3_000_000_000, 7)  # erases of a block: most, least
struct.pack_into("<H", page, 494, 3)  # version of the page
page[496:512] = 0xAFD514C97C6F4F9CA4F2BFEA2810AFC5.to_bytes(16, "little")  # OCP's GUID
open(sys.argv[1], "wb").write(page)
PAGE
counts() {
    tool nvme ocp smart-add-log /dev/null -o json | python3 -c '
import json, sys
log = json.load(sys.stdin)
print(*(f"{key.split()[3]}={log[key]}" for key in log if key.startswith("End to end")), "erases", log["Max User data erase counts"])'
}
text() {
    tool nvme ocp smart-add-log /dev/null | sed -n 's/ *End to end \([a-z]*\) errors[[:space:]]*/\1=/p' | xargs
}
unpack bookworm nvme-cli=2.4+really2.3-3
expect '2.3, JSON' "$(counts)" 'corrected=1000 detected=100 erases -1294967296'
expect '2.3, text' "$(text)" 'corrected=1000 detected=100'
rm -rf "$ROOT" "$TEMP/apt"
unpack trixie nvme-cli=2.13-2
expect '2.13, JSON' "$(counts)" 'detected=1000 corrected=100 erases 3000000000'
expect '2.13, text' "$(text)" 'detected=1000 corrected=100'
