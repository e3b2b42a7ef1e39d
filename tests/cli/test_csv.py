"""Reading CSV files: what is understood, and one clear line for what is not."""

import re

import click
import numpy as np
import pytest

from cerflearn.cli._csv import read_csv

GOOD = "one,two,label\n1,2.5,low\n-3,4e2,high\n5,6,low\n"


def read(tmp_path, data, target="label", task="auto"):
    path = tmp_path / "data.csv"
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return read_csv(path, target, task)


@pytest.mark.parametrize(
    "data",
    [
        GOOD,
        GOOD.encode("utf-8-sig"),
        GOOD.replace("\n", "\r\n"),
        GOOD.replace("\n", "\r"),
        GOOD.rstrip("\n"),
        GOOD.replace("\n", "\n\n"),
        GOOD.replace("\n", "\n   \n"),
        GOOD.replace(",", " , "),
        GOOD.replace("one,two,label", '"one","two","label"').replace("low", '"low"'),
    ],
    ids=["plain", "BOM", "CRLF", "CR", "no end", "blank", "white", "spaces", "quoted"],
)
def test_variants_of_a_file_are_read_alike(tmp_path, data):
    X, y = read(tmp_path, data)
    np.testing.assert_array_equal(X, [[1.0, 2.5], [-3.0, 400.0], [5.0, 6.0]])
    assert y.tolist() == ["low", "high", "low"]


def test_numbers_are_a_target_of_numbers(tmp_path):
    _, y = read(tmp_path, GOOD.replace("low", "7").replace("high", "1e200"))
    assert y.tolist() == [7.0, 1e200, 7.0]


def test_names_may_have_any_letters(tmp_path):
    X, y = read(tmp_path, GOOD.replace("label", "größe ✓"), target="größe ✓")
    assert X.shape == (3, 2)
    assert len(y) == 3


def test_columns_of_one_name_are_inputs_like_others(tmp_path):
    assert read(tmp_path, GOOD.replace("one", "two", 1))[0].shape == (3, 2)


def test_an_input_without_a_name_is_mentioned(tmp_path, capsys):
    assert read(tmp_path, GOOD.replace("one", "", 1))[0].shape == (3, 2)
    assert "Column 1 of" in capsys.readouterr().err


def test_mixed_labels_are_read_if_they_are_said_to_be_labels(tmp_path):
    _, y = read(tmp_path, GOOD.replace("low", "1"), task="classification")
    assert y.tolist() == ["1", "high", "1"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "has no rows below a header"),
        (b"\n\n", "has no rows below a header"),
        (b"one,label\n", "has no rows below a header"),
        (b"label\na\nb\n", "has no column beside 'label'"),
        (b"one,label\n1,a\n2\n", "Line 3 of .* has 1 value, the header has 2"),
        (b"one,label\n\n\n1,a\n\n2\n", "Line 6 of .* has 1 value, the header has 2"),
        (b'one,label\n1,"a\nb"\n2\n', "Line 4 of .* has 1 value, the header has 2"),
        (b"one,label\r\r1,a\r2\r", "Line 4 of .* has 1 value, the header has 2"),
        (b"one,label\n1,a\n,b\n", r"not all numbers: one \(line 3 has no value\)"),
        (b"one,label\n1,a\nnan,b\n", r"not all numbers: one \(line 3 has 'nan'\)"),
        (b"one,label\n1,a\n1_0,b\n", r"not all numbers: one \(line 3 has '1_0'\)"),
        (b"one,label\n1,a\n1e400,b\n", r"one \(line 3 has '1e400'\)"),
        (b"one,label\n1,a\n\n1e200,b\n", r"one \(line 4 has '1e200', which is too large\)"),
        (b"one,two,label\n1,x,a\ny,z,b\n", r"one \(line 3 has 'y'\), two \(line 2 has 'x'\)"),
        (b'"a\nb",label\nx,a\n', r"'a\\nb' \(line 3 has 'x'\)"),
        (b"one,label\n1,a\n2,\n", "Line 3 of .* has no value in the target column label"),
        (b"one,label\n1,5\n2,NaN\n", "Line 3 of .* has no value in the target column label"),
        (b"one,label\n1,5\n2,NA\n", "Line 3 of .* has 'NA' in column label, other lines have"),
        (b"one,label,label\n1,2,3\n", "has 2 columns 'label': rename all but one"),
        (b"one;label\n1;a\n", "its columns are one;label. .* separated by semicolons"),
        (b"one\tlabel\n1\ta\n", "separated by tabs"),
        (b"1,2\n3,4\n", "its columns are 1, 2. The first line must have the names"),
        (b"one,label\n1,\xe9t\xe9\n", r"Line 2 of .* is not UTF-8 text \(byte 0xe9\)"),
        (b"one,label\r1,a\r2,\xe9\r", r"Line 3 of .* is not UTF-8 text"),
        (GOOD.encode("utf-16"), "is UTF-16 text: save the table as CSV in UTF-8"),
        (GOOD.encode("utf-16-be"), r"is not a text file \(zero byte on line 1\)"),
        (b"one,label\n1,a\n\xff\x00\n", r"is not a text file \(zero byte on line 3\)"),
        (b"PK\x03\x04....", "is a zip archive or a spreadsheet"),
        (b"\x1f\x8b....", "is a gzip archive"),
        (b'one,label\n1,"a\n2,b\n', "Line 2 of .*: a quotation mark is not closed"),
        (b'one,label\n1,"a"x\n', "Line 2 of .*: a comma is missing after a quoted value"),
        (b"one,label\n1," + 140_000 * b"x" + b"\n", "Line 2 of .*: a value has more than 131,072"),
    ],
)
def test_files_that_are_not_understood_are_refused_in_one_line(tmp_path, data, message):
    with pytest.raises(click.ClickException) as caught:
        read(tmp_path, data)
    assert caught.value.exit_code == 1
    assert "data.csv" in caught.value.message
    assert "\n" not in caught.value.message
    assert re.search(message, caught.value.message)


def test_of_many_columns_some_are_named(tmp_path):
    names = [f"c{i}" for i in range(30)]
    text = ",".join([*names, "label"]) + "\n" + ",".join(31 * ["x"]) + "\n"
    with pytest.raises(click.ClickException, match=r"c4 \(.*\) and 25 more\. Encode"):
        read(tmp_path, text)
    with pytest.raises(click.ClickException, match=r"c11 and 19 more\."):
        read(tmp_path, text, target="price")
