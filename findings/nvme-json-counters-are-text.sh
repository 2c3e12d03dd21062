#!/usr/bin/env bash
# Tools     nvme-cli 2.3 and 2.13 (Debian bookworm, 2.4+really2.3-3; trixie, 2.13-2), smartmontools 7.3 (bookworm, 7.3-1+b1) and
#           jq 1.6 (bookworm, 1.6-2.1+deb12u2), as JSON
# Guess     `data_units_read` is a number, and what reads JSON reads it to its last digit.
# Seen      The counters of an NVMe drive have 16 bytes. nvme-cli 2.3 writes them as text, 2.13 as numbers. smartctl writes a number and
#           from 2^53 on the same as text (`_s`), from 2^64 on its bytes as well (`_le`). jq 1.6 takes all numbers as doubles: 2^53 + 1
#           comes out as 2^53.
# Matters   A query that adds or compares these keys fails with one version and rounds with the next; `tonumber` in jq hides both.
set -euo pipefail
TEMP=$(mktemp -d)
trap 'rm -rf "$TEMP"' EXIT
source "$(dirname "$0")/lib/common.bash"

units() {
    python3 -c '
import json, sys
record = json.load(sys.stdin)
log = record.get("nvme_smart_health_information_log", record)
print(*(f"{key[11:]}={value!r}" for key, value in log.items() if key.startswith("data_units_") and not key.endswith("_le")))
print(*(key[11:] for key in log if key.endswith("_le")))'
}
drive
python3 "$LIB/pages.py" nvme "$PAGES"
python3 - "$PAGES/log02" <<'PAGE'
import sys

page = bytearray(open(sys.argv[1], "rb").read())
page[32:48], page[48:64] = (2**64 + 1).to_bytes(16, "little"), (2**53 + 1).to_bytes(16, "little")
open(sys.argv[1], "wb").write(page)
PAGE
unpack bookworm nvme-cli=2.4+really2.3-3 smartmontools=7.3-1+b1 jq=1.6-2.1+deb12u2
expect 'nvme-cli 2.3' "$(tool nvme smart-log /dev/null -o json | units | xargs -0 echo -n)" \
    "read='18446744073709551617' written='9007199254740993'"
expect 'smartctl 7.3' "$(tool smartctl -d nvme -A --json /dev/null | units | tr '\n' ' ')" \
    "read=18446744073709551617 read_s='18446744073709551617' written=9007199254740993 written_s='9007199254740993' read_le "
expect 'jq 1.6' "$(PRELOAD='' && echo '{"written": 9007199254740993}' | tool jq -c .)" '{"written":9007199254740992}'
rm -rf "$ROOT" "$TEMP/apt"
unpack trixie nvme-cli=2.13-2
expect 'nvme-cli 2.13' "$(tool nvme smart-log /dev/null -o json | units | xargs -0 echo -n)" 'read=18446744073709551617 written=9007199254740993'
