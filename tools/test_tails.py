"""The table of tail probabilities against the script that makes it: `python3 -m unittest discover tools`."""

import csv
import importlib.util
import pathlib
import unittest

PATH = pathlib.Path(__file__).with_name("tails.py")
SPEC = importlib.util.spec_from_file_location("tails", PATH)
tails = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(tails)


class Tails(unittest.TestCase):
    def test_the_table_is_what_the_script_makes(self):
        found = [row[:5] for row in csv.reader(tails.TABLE.open())]
        self.assertEqual(found, [tails.COLUMNS[:5]] + [row[:5] for row in tails.rows()])

    def test_scipy_says_the_same_to_nine_digits(self):
        for row in csv.DictReader(tails.TABLE.open()):
            exact, scipy = float(row["exact"]), float(row["scipy"])
            self.assertLess(abs(scipy / exact - 1), 1e-9, row)

    def test_sums_worked_out_by_hand(self):
        self.assertEqual(tails.binomial(2, "0.5", 0), tails.Decimal("0.75"))
        self.assertEqual(tails.normal("0"), tails.Decimal("0.5"))


if __name__ == "__main__":
    unittest.main()
