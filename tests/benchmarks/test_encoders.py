"""The benchmark of encoders: its page shows what was measured, and its example runs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "encoders.md").read_text()


@pytest.fixture(scope="module", name="encoders")
def fixture_encoders(load):
    return load("encoders")


def test_the_page_shows_what_was_measured(encoders):
    shown = re.search(r"<!-- encoders -->\n(.*?)\n<!-- end of encoders -->", PAGE, re.DOTALL)
    assert shown is not None
    assert shown[1] == encoders.tables(json.loads(encoders.RESULTS.read_text()))


def test_the_example_of_the_page_runs(capsys):
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(example, {})
    codec, decoder, features, imputer = map(int, capsys.readouterr().out.split())
    assert codec <= 240
    assert decoder == 15 * 64
    assert features <= 240
    assert imputer <= 480


def test_tables_have_means_errors_and_paired_differences(encoders):
    records = [
        {"part": "maps", "dataset": "mnist", "split": s, "budget": 320, "method": m, "accuracy": a}
        for s, scores in enumerate([(80.0, 84.0, 84.0), (82.0, 85.0, 85.0)])
        for m, a in zip(("greedy", "trained", "auto"), scores, strict=True)
    ]
    found = encoders.tables(records)
    assert "| mnist | 320 | 81.00 ± 1.00 | 84.50 ± 0.50 | 84.50 ± 0.50 | 3.50 ± 0.50 |" in found
    assert "digits_raw" not in found


def test_parts_are_measured_on_data(encoders, tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3)) @ rng.normal(size=(3, 10))
    np.savez(tmp_path / "few.npz", X=X, y=(X[:, 0] > 0).astype(int))
    monkeypatch.setenv("CERF_DATA", str(tmp_path))
    monkeypatch.setattr(encoders, "N_CODES", 3)
    monkeypatch.setattr(encoders, "TEACHER_COLUMNS", 16)
    exact = encoders.measure_codes("few", 0, 1, "pca")
    assert exact["error"] == pytest.approx(0.0, abs=1e-9)
    found = encoders.measure_codes("few", 0, 1, "trained")
    assert found["macs"] <= 30
    assert found["error"] < 0.1
    assert encoders.measure_maps("few", 0, 30, "greedy")["accuracy"] > 60.0
    taught = encoders.measure_teacher("few", 0, 2, "trained")
    assert taught["macs"] <= taught["teacher_macs"] // 2
    monkeypatch.delenv("CERF_DATA")
    with pytest.raises(SystemExit, match="CERF_DATA"):
        encoders.load("few", 0)
