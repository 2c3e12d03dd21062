#!/usr/bin/env bash
# Tool      smartmontools 7.5 (Debian forky, 7.5-2), `smartctl --json`
# Guess     The key `spare_available`, new in 7.5, is the reserve of spare blocks: of a drive that smartctl knows by name, from the
#           attribute that its database calls Available_Reservd_Space.
# Seen      It is the normalized value of attribute 5, reallocated sectors, cut off at 100; 232 and 170 are not looked at. An SSD of a
#           known family whose reserve has fallen to its threshold of 10 has `spare_available` 100; without attribute 5 the key is
#           absent. A drive that the database does not know has it as well; one whose database entry names 5 Reallocate_NAND_Blk_Cnt
#           has not. 7.4 has no such key.
# Matters   A rule that believes `spare_available` before the vendor's attribute calls a drive well that is about to run out of spare.
set -euo pipefail
TEMP=$(mktemp -d)
trap 'rm -rf "$TEMP"' EXIT
source "$(dirname "$0")/lib/common.bash"

unpack forky smartmontools=7.5-2
drive
spare() {
    python3 "$LIB/pages.py" ata "$PAGES" "$@"
    tool smartctl -d ata -A --json /dev/null | python3 -c '
import json, sys
record = json.load(sys.stdin)
names = [row["name"] for row in record["ata_smart_attributes"]["table"]]
print(record.get("spare_available", {}).get("current_percent"), *names)'
}
expect 'a reserve at its threshold' "$(spare 'INTEL SSDSC2KB480G7' 5:100:0 170:10:0:10 232:10:0:10)" \
    '100 Reallocated_Sector_Ct Available_Reservd_Space Available_Reservd_Space'
expect 'without attribute 5' "$(spare 'INTEL SSDSC2KB480G7' 170:10:0:10 232:10:0:10)" 'None Available_Reservd_Space Available_Reservd_Space'
expect 'a drive that is not known, attribute 5 at 77' "$(spare 'EXAMPLE SSD' 5:77:0 | cut -d' ' -f1)" 77
expect 'attribute 5 at 200' "$(spare 'EXAMPLE SSD' 5:200:0 | cut -d' ' -f1)" 100
expect 'another name of attribute 5' "$(spare 'CT500MX500SSD1' 5:95:0 180:80:5)" 'None Reallocate_NAND_Blk_Cnt Unused_Reserve_NAND_Blk'
