"""C of what scores mean: labels, classes, values; and an example of a main."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cerflearn.export.c99.c_lower import StagedModel
from cerflearn.export.c99.c_text import string_literal
from cerflearn.export.steps import Output

CLASSIFIES = ("binary", "multiclass", "pairs")
"""Outputs of which ``predict`` gives the number of a class."""


def label_code(name: str, output: Output) -> list[str]:
    """Labels of the classes: strings, or numbers if they are; nothing without classes."""
    if output.classes is None:
        return []
    labels = np.asarray(output.classes)
    if _are_int32(labels):
        values = ", ".join(str(int(label)) for label in labels)
        return [f"static const int32_t {name}_labels[{len(labels)}] = {{{values}}};"]
    texts = ", ".join(string_literal(str(label)) for label in labels.tolist())
    return [f"static const char *const {name}_labels[{len(labels)}] = {{{texts}}};"]


def label_format(output: Output) -> str:
    """Conversion of ``printf`` for a label."""
    return "%ld" if _are_int32(np.asarray(output.classes)) else "%s"


def _are_int32(labels: Any) -> bool:
    """Whether labels are integers of 32 bits; others are written as strings."""
    return bool(
        labels.dtype.kind in "iu" and np.abs(labels.astype(np.float64)).max(initial=0) < 2**31
    )


def n_classes_of(output: Output, n_outputs: int) -> int:
    """Classes, or labels of a row."""
    return n_outputs if output.kind == "multilabel" else len(output.classes)


def decision_code(name: str, model: StagedModel, ctype: str, loop: str) -> list[str]:
    """Return the function from scores to the number of the class."""
    kind, n = model.output.kind, model.n_outputs
    if kind not in CLASSIFIES:
        return []
    head = [
        "/* Number of the class, from scores. */",
        f"static inline int {name}_decide(const {ctype} *s) {{",
    ]
    if kind == "binary":
        zero = "0.0f" if ctype == "float" else "0"
        return [*head, f"    return s[0] > {zero} ? 1 : 0;", "}"]
    if kind == "multiclass":
        return [
            *head,
            "    int best = 0;",
            f"    for (int o = 1; o < {n}; o++) if (s[o] > s[best]) best = o;",
            "    return best;",
            "}",
        ]
    n_classes = len(model.output.classes)
    zero = "0.0f" if ctype == "float" else "0"
    add, subtract = "sums[i] += s[pair];", "sums[j] -= s[pair];"
    if ctype == "int32_t":  # modulo 2^32, as integers beyond the scales may come in
        add, subtract = (
            f"sums[{of}] = (int32_t)((uint32_t)sums[{of}] {sign} (uint32_t)s[pair]);"
            for of, sign in (("i", "+"), ("j", "-"))
        )
    return [
        "/* Number of the class: every pair votes; of equally many votes, the largest sum. */",
        head[1],
        f"    int votes[{n_classes}] = {{0}};",
        f"    {ctype} sums[{n_classes}] = {{{zero}}};",
        f"    {loop} pair = 0;",
        f"    for (int i = 0; i < {n_classes}; i++) {{",
        f"        for (int j = i + 1; j < {n_classes}; j++) {{",
        f"            votes[s[pair] > {zero} ? i : j]++;",
        f"            {add}",
        f"            {subtract}",
        "            pair++;",
        "        }",
        "    }",
        "    int best = 0;",
        f"    for (int i = 1; i < {n_classes}; i++) {{",
        "        if (votes[i] > votes[best] || (votes[i] == votes[best] && sums[i] > sums[best])) "
        "best = i;",
        "    }",
        "    return best;",
        "}",
    ]


def decision_bytes(output: Output) -> int:
    """Working bytes of the decision beside the scores."""
    return 8 * len(output.classes) if output.kind == "pairs" else 0


def predict_code(name: str, model: StagedModel, ctype: str, suffix: str, row: str) -> list[str]:
    """Return functions of a row: ``predict`` for predictors.

    Parameters
    ----------
    name : str
        Of the model.
    model : StagedModel
        What is computed.
    ctype : str
        Type of scores.
    suffix : str
        Of the functions, ``""`` or ``"_q"``.
    row : str
        Type of a pointer to the inputs.
    """
    output, n = model.output, model.n_outputs
    scores = f"{name}_scores{suffix}"
    call = f"    {ctype} s[{n}];\n    {scores}(x, s);"
    if output.kind in CLASSIFIES:
        return [
            "/* Number of the predicted class, from 0; its label is in the array of labels. */",
            f"static inline int {name}_predict{suffix}({row}x) {{",
            call,
            f"    return {name}_decide(s);",
            "}",
        ]
    if output.kind == "multilabel":
        zero = "0.0f" if ctype == "float" else "0"
        return [
            "/* 1 for each label that is predicted, else 0. */",
            f"static inline void {name}_predict{suffix}({row}x, uint8_t *labels) {{",
            call,
            f"    for (int o = 0; o < {n}; o++) labels[o] = s[o] > {zero} ? 1u : 0u;",
            "}",
        ]
    if output.kind == "values" and n == 1:
        return [
            "/* The predicted number. */",
            f"static inline {ctype} {name}_predict{suffix}({row}x) {{",
            call,
            "    return s[0];",
            "}",
        ]
    verb = "predict" if output.kind == "values" else "transform"
    return [
        f"/* {'Predicted numbers' if verb == 'predict' else 'Features'} of a row. */",
        f"static inline void {name}_{verb}{suffix}({row}x, {ctype} *out) {{",
        f"    {scores}(x, out);",
        "}",
    ]


def output_bytes(model: StagedModel) -> int:
    """Working bytes of ``predict``: its scores; those that the caller gives are not counted."""
    output, n = model.output, model.n_outputs
    given = output.kind == "features" or (output.kind == "values" and n > 1)
    return decision_bytes(output) + (0 if given else 4 * n)


_EXAMPLE = """/* Reads rows of numbers, separated by spaces or commas, and prints a result for each.
 * cc -O2 example_main.c -o example && ./example < rows.txt
 */
#include <stdio.h>
#include <stdlib.h>
#include "%(header)s"

static int separates(int c) {
    return c == ' ' || c == ',' || c == ';' || c == '\\t' || c == '\\r' || c == '\\n';
}

/* The next number of the input into value: 1, 0 at the end, -1 if it is no number. */
static int next_number(float *value) {
    char text[64], *end;
    int c = getchar();
    size_t n = 0;
    while (separates(c)) c = getchar();
    while (c != EOF && !separates(c)) {
        if (n + 1 < sizeof text) text[n++] = (char)c;
        c = getchar();
    }
    text[n] = '\\0';
    *value = (float)strtod(text, &end);
    return *end != '\\0' ? -1 : n > 0;
}

int main(void) {
    static float x[%(upper)s_N_INPUTS];
    for (;;) {
        for (int i = 0; i < %(upper)s_N_INPUTS; i++) {
            const int found = next_number(&x[i]);
            if (found == 0 && i == 0) return 0;
            if (found != 1) {
                fprintf(stderr, "A row has %%d numbers, and then %%s.\\n", i,
                        found ? "a word that is no number" : "the input ends");
                return 1;
            }
        }
%(show)s
    }
}
"""


def example_main(name: str, header: str, model: StagedModel) -> str:
    """Text of a program that reads rows of numbers and prints results."""
    output, n = model.output, model.n_outputs
    each = f"for (int o = 0; o < {n}; o++) printf"
    end = f"o + 1 < {n} ? ' ' : '\\n'"
    if output.kind in CLASSIFIES:
        form = label_format(output)
        cast = "(long)" if form == "%ld" else ""
        show = [f'printf("{form}\\n", {cast}{name}_labels[{name}_predict(x)]);']
    elif output.kind == "multilabel":
        show = [f"uint8_t labels[{n}];", f"{name}_predict(x, labels);"]
        show.append(f'{each}("%d%c", (int)labels[o], {end});')
    elif output.kind == "values" and n == 1:
        show = [f'printf("%.9g\\n", (double){name}_predict(x));']
    else:
        verb = "predict" if output.kind == "values" else "transform"
        show = [f"float out[{n}];", f"{name}_{verb}(x, out);"]
        show.append(f'{each}("%.9g%c", (double)out[o], {end});')
    text = "\n".join("        " + line for line in show)
    return _EXAMPLE % {"header": header, "upper": name.upper(), "show": text}


def labels_of(output: Output, scores: Any) -> Any:
    """Class numbers (n_samples,), or 0 and 1 of labels, of scores; None of other outputs."""
    if output.kind == "binary":
        return (scores[:, 0] > 0).astype(np.int64)
    if output.kind == "multiclass":
        return scores.argmax(axis=1)
    if output.kind == "multilabel":
        return (scores > 0).astype(np.int64)
    if output.kind != "pairs":
        return None
    n_classes = len(output.classes)
    votes, sums = _votes(scores, n_classes)
    best = np.zeros(len(scores), dtype=np.int64)
    rows = np.arange(len(scores))
    for i in range(1, n_classes):
        more = votes[:, i] > votes[rows, best]
        equal = (votes[:, i] == votes[rows, best]) & (sums[:, i] > sums[rows, best])
        best[more | equal] = i
    return best


def _votes(scores: Any, n_classes: int) -> tuple[Any, Any]:
    votes = np.zeros((len(scores), n_classes), dtype=np.int64)
    sums = np.zeros((len(scores), n_classes), dtype=scores.dtype)
    first, second = np.triu_indices(n_classes, k=1)
    for pair, (one, other) in enumerate(zip(first, second, strict=True)):
        score = scores[:, pair]
        votes[:, one] += score > 0
        votes[:, other] += score <= 0
        sums[:, one] += score
        sums[:, other] -= score
    return votes, sums


def gaps_of(output: Output, scores: Any) -> Any:
    """How far (n_samples,) scores are from another decision; infinite if there is none."""
    if output.kind in ("binary", "multilabel"):
        return np.abs(scores).min(axis=1)
    if output.kind == "multiclass":
        best = np.partition(scores, -2, axis=1)[:, -2:]
        return best[:, 1] - best[:, 0]
    if output.kind == "pairs":
        return np.abs(scores).min(axis=1)
    return np.full(len(scores), np.inf)


def verify_calls(name: str, model: StagedModel, dtype: str) -> Sequence[str]:
    """Statements that compute scores ``s`` and a class ``label`` of a row ``x``."""
    integer = dtype != "float32"
    lines = [f"{name}_scores{'_q' if integer else ''}({'q' if integer else 'x'}, s);"]
    if integer:
        lines.insert(0, f"{name}_quantize(x, q);")
    if model.output.kind in CLASSIFIES:
        lines.append(f"label = {name}_predict(x);")
    return lines
