"""Text that is safe in C."""

from __future__ import annotations

import numpy as np
import pytest

from cerflearn.export.c99.c_text import (
    array_text,
    comment_block,
    comment_text,
    float_literal,
    identifier,
    integer_literal,
    string_literal,
)


@pytest.mark.parametrize(
    "text", ["*/", "/*/", "**//", "??/", "???/", "a\\", "\n", "\0", "\u2028", "é"]
)
def test_comments_hold_nothing_that_ends_or_changes_them(text):
    block = comment_block([text, text * 3])
    assert block.count("*/") == 1
    assert block.endswith(" */")
    assert "/*" not in block[2:]
    assert "??" not in block
    assert block.isascii()
    assert "\\" not in comment_text(text)


def test_strings_are_bytes_of_utf8():
    for text in ('"', "\\", "??=", "é", "\n", "\0", "a%d"):
        literal = string_literal(text)
        assert literal.isascii()
        body = literal[1:-1]
        assert '"' not in body
        assert "?" not in body
        assert eval(f'b"{body}"') == text.encode()  # octal escapes are the same in Python


@pytest.mark.parametrize("name", ["", "_", "9", "a b", "é", "int", "__x__", "a--b", "*/"])
def test_identifiers_are_valid_and_not_reserved(name):
    found = identifier(name)
    assert found.isidentifier()
    assert found.isascii()
    assert "__" not in found
    assert not found.startswith("_")
    assert found != "int"


def test_numbers_read_back():
    rng = np.random.default_rng(0)
    values = (rng.normal(size=100) * 10.0 ** rng.integers(-9, 9, size=100)).astype(np.float32)
    for value in values:
        assert np.float32(float_literal(value).rstrip("f")) == value
    assert float_literal(2.0) == "2.0f"
    with pytest.raises(ValueError, match="beyond single precision"):
        float_literal(1e39)
    assert integer_literal(-(2**31)) == "(-2147483647 - 1)"
    assert array_text("uint8_t", "a", np.array([1, 2])) == (
        "static const uint8_t a[2] = {\n    1, 2\n};"
    )
