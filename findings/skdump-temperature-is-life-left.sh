#!/usr/bin/env bash
# Tool      libatasmart 0.19 (Debian bookworm, 0.19-5), `skdump`; udisks and the desktop's disk tools ask the same library
# Guess     The temperature is attribute 194, and attribute 241, which it names total-lbas-written, counts blocks of 512 bytes.
# Seen      Attribute 231 is taken for a temperature and goes before 194: an SSD with 90 percent of its life left and 35 degrees is at
#           90.0 C, and cools as it ages. Under the name total-lbas-written 20,000,000,000 become 671088.640 TB: each "LBA" is
#           65,536 blocks (32 MiB), so that 10.24 TB are 65,536 times as much.
# Matters   A hot drive in the desktop's alarm and a cool one in wane are both reading the same page. Do not feed tables from skdump.
set -euo pipefail
TEMP=$(mktemp -d)
trap 'rm -rf "$TEMP"' EXIT
source "$(dirname "$0")/lib/common.bash"

unpack bookworm libatasmart-bin=0.19-5 libatasmart4=0.19-5
python3 "$LIB/pages.py" ata "$TEMP" 'EXAMPLE SSD' 9:95:20000 194:65:35 231:90:90 241:100:20000000000
python3 - "$TEMP" <<'BLOB'
import struct
import sys
from pathlib import Path

folder = Path(sys.argv[1])
blob = b""
for tag, page in ((b"IDFY", "ident"), (b"SMST", None), (b"SMDT", "smartd0"), (b"SMTH", "smartd1")):
    data = (folder / page).read_bytes() if page else struct.pack(">I", 1)
    blob += tag + struct.pack(">I", len(data)) + data
(folder / "drive.blob").write_bytes(blob)
BLOB
tool skdump --load="$TEMP/drive.blob" >"$TEMP/text"
expect 'temperature of a drive at 35 C' "$(sed -n 's/^Temperature: //p' "$TEMP/text")" '90.0 C'
expect 'attribute 231' "$(awk '$1 == 231 { print $2 }' "$TEMP/text")" temperature-celsius
expect 'attribute 241 at 20,000,000,000' "$(awk '$1 == 241 { print $2, $6, $7 }' "$TEMP/text")" 'total-lbas-written 671088.640 TB'
