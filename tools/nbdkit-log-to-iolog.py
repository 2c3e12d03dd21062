#!/usr/bin/env python3
"""Turn the log of nbdkit's log filter into a fio iolog, version 3, on stdout.

A request counts when it reaches the server, not when it completes, so the order is the one that the drive would see.
Times count from the first request. fio 3.31 and later write and replay them in microseconds; here they are whole
milliseconds, which halves the compressed size. No name of the recording machine enters the output.
"""

import argparse
import datetime
import re
import sys

TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6} ")
CALL = re.compile(r"connection=\d+ (?P<name>Read|Write|Trim|Zero|Flush) id=\d+(?P<fields>(?: \w+=\w+)*) \.\.\.$")
FAILED = re.compile(r"connection=\d+ \.\.\.(?:Read|Write|Trim|Zero|Flush) id=\d+ .*return=-1")
STAMP_LENGTH = len("2020-01-01 00:00:00.000000")
RESOLUTION_US = 1000


def actions(name: str, fields: dict[str, str]) -> list[str]:
    """What a request is to a drive: zeroes that may be deallocated are a trim, forced unit access is a sync after."""
    if name == "Zero":
        name = "Trim" if fields.get("trim") == "1" else "Write"
    if name == "Flush":
        return ["sync 0 0"]
    found = [f"{name.lower()} {int(fields['offset'], 16)} {int(fields['count'], 16)}"]
    return found + ["sync 0 0"] if fields.get("fua") == "1" else found


def convert(log, skip: int, out) -> None:
    """Write the requests of `log` after its first `skip` lines to `out`; nothing if there are none."""
    first = None
    now = 0
    for number, line in enumerate(log, start=1):
        if number <= skip:
            continue
        # nbdkit 1.48 writes of itself without a time: "! Ready", "! Fork".
        if line.startswith("! "):
            continue
        if not TIME.match(line):
            raise ValueError(f"line {number} does not start with a time such as 2020-01-01 00:00:00.000000")
        text = line[STAMP_LENGTH:].strip()
        if FAILED.match(text):
            raise ValueError(f"line {number} is a request that failed; a trace holds only requests that were served")
        call = CALL.match(text)
        if not call:
            continue
        fields = dict(field.split("=") for field in call["fields"].split())
        if call["name"] != "Flush" and not {"offset", "count"} <= fields.keys():
            raise ValueError(f"line {number} is a request without offset or count")
        time = datetime.datetime.fromisoformat(line[:STAMP_LENGTH])
        if first is None:
            first = time
            out.write("fio version 3 iolog\n0 device add\n0 device open\n")
        elapsed = (time - first) // datetime.timedelta(microseconds=RESOLUTION_US)
        # Threads may log out of order by a few microseconds.
        now = max(now, elapsed * RESOLUTION_US)
        for action in actions(call["name"], fields):
            out.write(f"{now} device {action}\n")
    if first is None:
        raise ValueError("there is no request after the skipped lines")
    out.write(f"{now} device close\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log", help="written by nbdkit --filter=log ... logfile=LOG")
    parser.add_argument("--skip-lines", type=int, default=0, metavar="N", help="leave out the first N lines")
    arguments = parser.parse_args()
    try:
        with open(arguments.log, encoding="ascii", errors="replace") as log:
            convert(log, arguments.skip_lines, sys.stdout)
    except OSError as error:
        print(f"nbdkit-log-to-iolog: {arguments.log}: {error.strerror}", file=sys.stderr)
        return 2
    except ValueError as error:
        print(f"nbdkit-log-to-iolog: {arguments.log}: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
