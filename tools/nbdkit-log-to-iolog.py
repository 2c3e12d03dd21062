#!/usr/bin/env python3
"""Turns the log of nbdkit's log filter into a fio iolog, version 3, on stdout.

Usage: nbdkit-log-to-iolog.py LOG. Takes a request when it is sent, not when it completes. Times count from the first
request in milliseconds.
"""

import datetime
import re
import sys

LINE = re.compile(
    r"^(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+) connection=\d+ (?P<op>Read|Write|Trim|Zero|Flush) id=\d+"
    r"(?: offset=(?P<offset>0x[0-9a-f]+) count=(?P<count>0x[0-9a-f]+))?.* \.\.\.$"
)
# A write of zeroes that may unmap is how a loop device discards; the log shows both, and the medium sees a trim.
ACTIONS = {"Read": "read", "Write": "write", "Trim": "trim", "Zero": "trim"}


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    print("fio version 3 iolog\n0 disk add\n0 disk open")
    first = None
    last = 0
    with open(sys.argv[1], encoding="ascii", errors="replace") as log:
        for line in log:
            found = LINE.match(line.rstrip())
            if not found:
                continue
            time = datetime.datetime.fromisoformat(found["time"])
            first = first or time
            last = max(last, int((time - first).total_seconds() * 1000))
            if found["op"] == "Flush":
                print(f"{last} disk sync 0 0")
            else:
                print(f"{last} disk {ACTIONS[found['op']]} {int(found['offset'], 16)} {int(found['count'], 16)}")
    print(f"{last} disk close")
    return 0


if __name__ == "__main__":
    sys.exit(main())
