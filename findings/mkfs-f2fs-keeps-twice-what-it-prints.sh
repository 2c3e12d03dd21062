#!/usr/bin/env bash
# Tool      mkfs.f2fs 1.15.0 and 1.16.0 (Debian bookworm, 1.15.0-1; trixie, 1.16.0-1.1+b1), on a file
# Guess     "Overprovision ratio = 6.360%" is the share of the main area that is kept from users, in both versions.
# Seen      1.15 keeps twice that share: of a device of 1 GiB it prints 6.360 %, and its checkpoint keeps 68 of 502 segments, 13.5 %; 1.16
#           prints 5.370 % and keeps 27, 5.4 %. The smallest device is 52 MiB with 1.15, and 44 MiB with 1.16.
# Matters   The same device holds 82 MiB less with Debian 12's tools than with Debian 13's; a simulated drive that is compared with
#           a formatted one needs the checkpoint's number.
set -euo pipefail
TEMP=$(mktemp -d)
trap 'rm -rf "$TEMP"' EXIT
source "$(dirname "$0")/lib/common.bash"

cd "$TEMP"
# Prints the ratio that mkfs says, and what its checkpoint keeps: segments of the main area, and those beyond the users' blocks.
kept() {
    rm -f disk
    truncate -s 1G disk
    tool mkfs.f2fs -f disk | sed -n 's/.*Overprovision ratio = //p'
    python3 -c '
import struct
with open("disk", "rb") as disk:
    disk.seek(1024)
    head = disk.read(80)  # segments of the main area, and where the first checkpoint begins
    main, checkpoint = struct.unpack_from("<I", head, 68)[0], struct.unpack_from("<I", head, 76)[0]
    disk.seek(4096 * checkpoint + 8)
    print(main - struct.unpack("<Q", disk.read(8))[0] // 512, "of", main)'
}
smallest() {
    for mib in 43 44 51 52; do
        rm -f disk
        truncate -s "${mib}M" disk
        tool mkfs.f2fs -f disk >/dev/null 2>&1 && printf '%s ' "$mib"
    done
}
unpack bookworm f2fs-tools=1.15.0-1
expect '1.15 prints and keeps, of 1 GiB' "$(kept | xargs)" '6.360% 68 of 502'
expect '1.15 takes of 43, 44, 51 and 52 MiB' "$(smallest)" '52 '
rm -rf "$ROOT" "$TEMP/apt"
unpack trixie f2fs-tools=1.16.0-1.1+b1
expect '1.16 prints and keeps, of 1 GiB' "$(kept | xargs)" '5.370% 27 of 502'
expect '1.16 takes of 43, 44, 51 and 52 MiB' "$(smallest)" '44 51 52 '
