"""The converter against small logs: `python3 -m unittest discover tools`."""

import importlib.util
import io
import pathlib
import unittest

PATH = pathlib.Path(__file__).with_name("nbdkit-log-to-iolog.py")
SPEC = importlib.util.spec_from_file_location("converter", PATH)
converter = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(converter)

AT = "2026-01-01 00:00:00.000000 connection=1 "
READ = AT + "Read id=1 offset=0x0 count=0x200 ...\n"


def converted(text: str, skip: int = 0) -> list[str]:
    """The requests of a log, without head and close."""
    out = io.StringIO()
    converter.convert(io.StringIO(text), skip, out)
    lines = out.getvalue().splitlines()
    assert lines[:3] == ["fio version 3 iolog", "0 device add", "0 device open"], lines
    assert lines[-1].endswith(" device close"), lines
    return lines[3:-1]


class Converter(unittest.TestCase):
    def test_each_request_becomes_what_a_drive_sees(self):
        table = [
            ("Read id=1 offset=0x1000 count=0x2000 ...", ["read 4096 8192"]),
            ("Write id=1 offset=0x0 count=0x1000 fua=0 ...", ["write 0 4096"]),
            ("Write id=1 offset=0x0 count=0x1000 fua=1 ...", ["write 0 4096", "sync 0 0"]),
            ("Trim id=1 offset=0x0 count=0x40000000 fua=0 ...", ["trim 0 1073741824"]),
            ("Zero id=1 offset=0x0 count=0x1000 trim=1 fua=0 fast=0 ...", ["trim 0 4096"]),
            ("Zero id=1 offset=0x0 count=0x1000 trim=0 fua=0 fast=0 ...", ["write 0 4096"]),
            ("Flush id=1 ...", ["sync 0 0"]),
        ]
        for line, actions in table:
            with self.subTest(line):
                self.assertEqual(converted(AT + line + "\n"), [f"0 device {action}" for action in actions])

    def test_completions_and_connections_are_no_requests(self):
        for line in ["...Read id=1 return=0", 'Connect export="" tls=0 size=0x400', "Extents id=1 offset=0x0 count=0x1 req_one=0 ..."]:
            self.assertEqual(converted(READ + AT + line + "\n"), ["0 device read 0 512"])

    def test_times_are_microseconds_from_the_first_request_and_never_fall(self):
        late = READ.replace("00.000000", "02.000999")
        early = READ.replace("00.000000", "01.999999")
        times = [int(line.split()[0]) for line in converted(READ + late + early)]
        self.assertEqual(times, [0, 2_000_000, 2_000_000])

    def test_lines_of_the_server_itself_are_no_requests(self):
        self.assertEqual(converted("! Ready thread_model=3\n" + READ + "! Fork\n" + READ), ["0 device read 0 512"] * 2)
        with self.assertRaisesRegex(ValueError, "line 1 does not start with a time"):
            converted("!Ready\n" + READ)

    def test_skipped_lines_are_left_out(self):
        self.assertEqual(len(converted(READ * 3, skip=2)), 1)

    def test_what_is_no_log_is_refused_and_writes_nothing(self):
        table = [
            ("abc\n", 0, "line 1 does not start with a time"),
            (READ, 1, "no request"),
            ("", 0, "no request"),
            (AT + "...Write id=1 return=-1 error=EIO\n", 0, "line 1 is a request that failed"),
            (AT + "Read id=1 count=0x200 ...\n", 0, "line 1 is a request without offset"),
        ]
        for text, skip, reason in table:
            out = io.StringIO()
            with self.subTest(text), self.assertRaisesRegex(ValueError, reason):
                converter.convert(io.StringIO(text), skip, out)
            self.assertEqual(out.getvalue(), "")


if __name__ == "__main__":
    unittest.main()
