"""The benchmark of tables runs, and tables are as quick as they should be."""

from __future__ import annotations

import json


def test_a_quick_run_prints_a_line_for_each_case(call):
    printed = call("tables", "--quick").splitlines()
    assert len(printed) == 2 + 2 * 4
    assert sum("bins" in line for line in printed) == 6


def test_tables_stay_near_cosines_of_equal_macs(load):
    rows = json.loads(load("tables").RESULTS.read_text())["rows"]
    for row in rows:
        assert row["one_row_ratio"] < 1.1
        if row["case"] != "256 bins":
            assert row["batch_ratio"] < 2
