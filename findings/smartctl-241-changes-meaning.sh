#!/usr/bin/env bash
# Tool      smartmontools 7.3 and 7.5 (Debian bookworm, 7.3-1+b1; forky, 7.5-2), names of attributes in their databases
# Guess     Attribute 241 of a drive that smartctl knows is what it was called: of SK hynix' SE5031, the host's writes.
# Seen      7.3 calls 241 of HFS480G32FEH-7410A Lifetime_Writes_GiB, 7.5 Lifetime_NAND_Prg_GiB, with the host's writes at 235, which 7.3 does not
#           know. HFS480G3H2X069N was unknown to 7.3, which prints its default name Total_LBAs_Written.
# Matters   The same drive's writes change threefold with an update of the package, and a total of GiB is read as one of sectors: keep the
#           number of the attribute and the database's version in a record, not its name.
set -euo pipefail
TEMP=$(mktemp -d)
trap 'rm -rf "$TEMP"' EXIT
source "$(dirname "$0")/lib/common.bash"

drive
names() {
    python3 "$LIB/pages.py" ata "$PAGES" "$1" 235:100:32200 241:100:96600
    tool smartctl -d ata -A --json /dev/null | python3 -c '
import json, sys
print(*(row["name"] for row in json.load(sys.stdin)["ata_smart_attributes"]["table"]))'
}
unpack bookworm smartmontools=7.3-1+b1
expect '7.3, SE5031: 235 and 241' "$(names HFS480G32FEH-7410A)" 'Unknown_Attribute Lifetime_Writes_GiB'
expect '7.3, another of the family' "$(names HFS480G3H2X069N)" 'Unknown_Attribute Total_LBAs_Written'
rm -rf "$ROOT" "$TEMP/apt"
unpack forky smartmontools=7.5-2
expect '7.5, SE5031: 235 and 241' "$(names HFS480G32FEH-7410A)" 'Lifetime_Writes_GiB Lifetime_NAND_Prg_GiB'
expect '7.5, another of the family' "$(names HFS480G3H2X069N)" 'Lifetime_Writes_GiB Lifetime_NAND_Prg_GiB'
