#!/usr/bin/env bash
# Tool      nvme-cli 2.3 (Debian bookworm, 2.4+really2.3-3), `nvme intel smart-log-add`, text and `--json`; 2.13 and 2.16 do the same
# Guess     Text and JSON show the same attributes with the same numbers, and an attribute that the drive does not keep is absent.
# Seen      The text has what the drive sends; the JSON also has seven that it did not send, each with raw value 0 and normalized value
#           0, one of them `unexp_power_loss`. Media wear of 5.5 percent is 5632 in the text, under the name media_wear_percentage, and
#           the string "5.500000" in the JSON. The least, greatest and mean erases, 300, 350 and 325, are one number in the text.
# Matters   Zero losses of power and zero reallocations look like good news, and are no report at all: a normalized 0 tells.
set -euo pipefail
TEMP=$(mktemp -d)
trap 'rm -rf "$TEMP"' EXIT
source "$(dirname "$0")/lib/common.bash"

unpack bookworm nvme-cli=2.4+really2.3-3
drive
python3 "$LIB/pages.py" nvme "$PAGES"
python3 - "$PAGES/logca" <<'PAGE'
import struct
import sys

wear = 300 | 350 << 16 | 325 << 32
raws = {0xAB: 0, 0xAC: 0, 0xAD: wear, 0xB8: 0, 0xC7: 0, 0xE2: 5 * 1024 + 512, 0xE3: 70, 0xE4: 1440, 0xEA: 0, 0xF0: 0, 0xF3: 0}
raws |= {0xF4: 1000, 0xF5: 500}
page = b"".join(struct.pack("<B2xBx6sx", key, 100, raw.to_bytes(6, "little")) for key, raw in raws.items())
open(sys.argv[1], "wb").write(page.ljust(512, b"\0"))
PAGE
tool nvme intel smart-log-add /dev/null >"$TEMP/text"
tool nvme intel smart-log-add /dev/null --json >"$TEMP/json"
expect 'attributes in the text' "$(grep -c '^0x' "$TEMP/text")" 13
expect 'wear in the text' "$(awk '$1 == "0xe2" || $1 == "0xad" { print $2, $NF }' "$TEMP/text" | xargs)" \
    'wear_leveling_count 1395887309100 media_wear_percentage 5632'
expect 'the JSON' "$(python3 - "$TEMP/json" <<'SHOW'
import json
import sys

stats = json.load(open(sys.argv[1]))["Device stats"]
silent = sorted(key for key, value in stats.items() if value == {"normalized": 0, "raw": 0})
print(repr(stats["timed_workload_media_wear"]["raw"]), stats["wear_leveling"]["raw"]["max"], len(silent), "unexp_power_loss" in silent)
SHOW
)" "'5.500000' 350 7 True"
