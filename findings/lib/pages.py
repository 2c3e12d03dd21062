"""Pages of a drive for drive.c, by the NVMe and ATA specifications. Run as `pages.py nvme FOLDER [NAME=VALUE...]` or as
`pages.py ata FOLDER MODEL ID:NORMALIZED:RAW[:THRESHOLD]...`."""

import struct
import sys
from pathlib import Path


def nvme(folder: Path, wanted: dict[str, int]) -> None:
    controller = bytearray(4096)
    controller[4:24], controller[24:64], controller[64:72] = b"SERIAL01".ljust(20), b"EXAMPLE NVME".ljust(40), b"1".ljust(8)
    struct.pack_into("<I", controller, 80, 0x10400)  # version 1.4
    controller[261], controller[262] = 0x06, 63  # log page attributes; error log entries less one
    struct.pack_into("<HH", controller, 266, 343, 353)  # warning and critical temperature, Kelvin
    struct.pack_into("<I", controller, 516, 1)  # namespaces
    health = bytearray(512)
    health[0] = wanted.get("warning", 0)
    struct.pack_into("<H", health, 1, wanted.get("kelvin", 313))
    health[3:6] = bytes([100, 10, 12])  # spare, its threshold, percentage used
    counters = [10**7, 2 * 10**7, 10**9, 2 * 10**9, wanted.get("busy", 0), 50, 10_000, 5, 0, wanted.get("entries", 0)]
    for place, counter in enumerate(counters):
        health[32 + 16 * place : 48 + 16 * place] = counter.to_bytes(16, "little")
    errors = bytearray(64 * 64)
    if "status" in wanted:  # count, submission queue, command, status with the phase bit, location, LBA, namespace
        struct.pack_into("<QHHHHQI", errors, 0, 1, 1, 7, wanted["status"] << 1 | wanted["phase"], 0, 123_456, 1)
    for name, page in {"id01": controller, "id00": bytes(4096), "log01": errors, "log02": health}.items():
        (folder / name).write_bytes(page)


def ata(folder: Path, model: str, attributes: list[str]) -> None:
    identity, table, limits = bytearray(512), bytearray(512), bytearray(512)
    for at, length, text in ((20, 20, "SERIAL01"), (46, 8, "1"), (54, 40, model)):
        swapped = text.ljust(length).encode()
        identity[at : at + length] = b"".join(swapped[i : i + 2][::-1] for i in range(0, length, 2))
    words = {49: 0x0F00, 53: 7, 80: 0x03F0, 82: 0x0001, 83: 0x4400, 84: 0x4003, 85: 0x0001, 86: 0x0400, 87: 0x4003, 217: 1}
    sectors = 1_000_215_216
    words |= {60: 0xFFFF, 61: 0x0FFF} | {100 + i: sectors >> 16 * i & 0xFFFF for i in range(4)}
    for word, value in words.items():
        struct.pack_into("<H", identity, 2 * word, value)
    table[0] = limits[0] = 1
    for place, attribute in enumerate(attributes):
        number, normalized, raw, limit = ([int(part, 0) for part in attribute.split(":")] + [0])[:4]
        at = 2 + 12 * place
        struct.pack_into("<BHBB6s", table, at, number, 0x32, normalized, normalized, raw.to_bytes(6, "little"))
        limits[at], limits[at + 1] = number, limit
    struct.pack_into("<H", table, 368, 3)
    identity[510] = 0xA5
    for name, page in {"ident": identity, "smartd0": table, "smartd1": limits}.items():
        page[511] = -sum(page[:511]) & 0xFF
        (folder / name).write_bytes(page)


if __name__ == "__main__":
    kind, folder, *rest = sys.argv[1:]
    if kind == "nvme":
        nvme(Path(folder), {name: int(value, 0) for name, value in (word.split("=") for word in rest)})
    else:
        ata(Path(folder), rest[0], rest[1:])
