"""Exported integer C on microcontrollers: cross-compiled, and run by QEMU's system mode.

QEMU 7.2 has a user mode as well, but it aborts on Cortex-M processors (the page for the kernel's
helpers lies beyond the addresses it reserves for them), so boards are emulated. Rows and results
are files, read and written by semihosting. Instructions are counted by running one at a time and
logging them; that is not cycle-accurate.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np

GCC, QEMU, SIZE = "arm-none-eabi-gcc", "qemu-system-arm", "arm-none-eabi-size"
SECONDS = 120


@dataclass(frozen=True)
class Board:
    machine: str
    flash: int  # where code is, and runs from
    ram: int
    ram_bytes: int


BOARDS = {
    "cortex-m0": Board("microbit", 0x0, 0x20000000, 16 * 1024),
    "cortex-m3": Board("mps2-an385", 0x0, 0x20000000, 256 * 1024),
    "cortex-m4": Board("mps2-an386", 0x0, 0x20000000, 256 * 1024),
    "cortex-m33": Board("mps2-an505", 0x10000000, 0x38000000, 256 * 1024),
}

LINKER = """
ENTRY(reset)
SECTIONS {{
  .text {flash:#x} : {{ KEEP(*(.vectors)) *(.text*) *(.rodata*) }}
  .data {ram:#x} : {{ *(.data*) *(.bss*) *(COMMON) }}
  /DISCARD/ : {{ *(.ARM.exidx*) }}
}}
"""

MAIN = """
#define {upper}_NO_FLOAT
#include "model.h"
static int32_t host(int32_t operation, const void *block) {{
    register int32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = block;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}}
static int32_t open_file(const char *name, int32_t length, int32_t mode) {{
    const struct {{ const char *name; int32_t mode, length; }} block = {{name, mode, length}};
    return host(1, &block);
}}
static int32_t move(int32_t operation, int32_t file, void *data, int32_t n) {{
    const struct {{ int32_t file; void *data; int32_t n; }} block = {{file, data, n}};
    return host(operation, &block); /* bytes that were left */
}}
void *memset(void *to, int value, unsigned long n);
void *memset(void *to, int value, unsigned long n) {{
    volatile unsigned char *p = to;
    while (n--) *p++ = (unsigned char)value;
    return to;
}}
static __attribute__((noinline)) int one_row(const int16_t *x, int32_t *s) {{
    {name}_scores_q(x, s);
    return {decide};
}}
static int16_t row[{upper}_N_INPUTS];
static struct {{ int32_t label, scores[{upper}_N_OUTPUTS]; }} out;
void reset(void);
void reset(void) {{
    const int32_t in = open_file("rows.bin", 8, 1), to = open_file("out.bin", 7, 5);
    while (move(6, in, row, (int32_t)sizeof row) == 0) {{
        out.label = one_row(row, out.scores);
        move(5, to, &out, (int32_t)sizeof out);
    }}
    host(2, (const void *)&to);
    host(0x18, (const void *)0x20026);
    for (;;) {{}}
}}
extern const void *const vectors[2];
const void *const vectors[2] __attribute__((section(".vectors"), used)) = {{
    (const void *){stack:#x}, (const void *)reset}};
"""

ALONE = """
#define {upper}_NO_FLOAT
#include "model.h"
extern int predict_row(const int16_t *x);
int predict_row(const int16_t *x) {{ return {name}_predict_q(x); }}
"""

ALONE_SCORES = """
#define {upper}_NO_FLOAT
#include "model.h"
extern void score_row(const int16_t *x, int32_t *s);
void score_row(const int16_t *x, int32_t *s) {{ {name}_scores_q(x, s); }}
"""

DECIDED = ("binary", "multiclass", "pairs")


def missing_tools():
    return [tool for tool in (GCC, QEMU, SIZE) if shutil.which(tool) is None]


def call(command, folder):
    done = subprocess.run(
        [str(part) for part in command], cwd=folder, capture_output=True, text=True, timeout=SECONDS
    )
    assert done.returncode == 0, (command, done.stdout[-500:], done.stderr[-2000:])
    return done.stdout


def compile_flags(cpu):
    return [f"-mcpu={cpu}", "-mthumb", "-Os", "-std=c99", "-ffreestanding", "-Wall", "-Wextra"]


def build(folder, header, name, kind, cpu):
    """Image of the model for a board, in the folder."""
    board = BOARDS[cpu]
    values = {
        "upper": name.upper(),
        "name": name,
        "decide": f"{name}_decide(s)" if kind in DECIDED else "0",
        "stack": board.ram + board.ram_bytes,
    }
    Path(folder, "model.h").write_text(header)
    Path(folder, "main.c").write_text(MAIN.format(**values))
    Path(folder, "link.ld").write_text(LINKER.format(flash=board.flash, ram=board.ram))
    command = [GCC, *compile_flags(cpu), "-Werror", "-nostdlib", "-nostartfiles", "-T", "link.ld"]
    call([*command, "main.c", "-lgcc", "-o", "image.elf", "-Wl,-Map=image.map"], folder)


def emulate(folder, cpu, rows, more=()):
    """Classes and integer scores of rows of integers."""
    Path(folder, "rows.bin").write_bytes(np.ascontiguousarray(rows, dtype="<i2").tobytes())
    Path(folder, "out.bin").unlink(missing_ok=True)
    command = [QEMU, "-M", BOARDS[cpu].machine, "-nographic", "-monitor", "none", "-serial", "none"]
    command += ["-semihosting-config", "enable=on,target=native", "-kernel", "image.elf", *more]
    call(command, folder)
    found = np.frombuffer(Path(folder, "out.bin").read_bytes(), dtype="<i4").reshape(len(rows), -1)
    return found[:, 0], found[:, 1:]


def instructions_per_row(folder, cpu, rows):
    """Instructions of a prediction of a row, counted one by one; not cycles."""
    symbols = call(["arm-none-eabi-nm", "-S", "image.elf"], folder)
    start, size = (int(n, 16) for n in re.search(r"^(\w+) (\w+) T reset$", symbols, re.M).groups())
    emulate(folder, cpu, rows, ["-singlestep", "-d", "nochain,exec", "-D", "trace.log"])
    log = Path(folder, "trace.log")
    places = re.findall(r"^Trace 0: \w+ \[\w+/\w+/(\w+)/", log.read_text(errors="replace"), re.M)
    log.unlink()
    outside = [p for p in places if not start <= int(p, 16) < start + size]
    return len(outside) / len(rows)


def memory(folder, header, name, kind, cpu):
    """Bytes of flash (code and constants) and of stack of a prediction, by the compiler."""
    Path(folder, "model.h").write_text(header)
    text = ALONE if kind in DECIDED else ALONE_SCORES
    Path(folder, "alone.c").write_text(text.format(upper=name.upper(), name=name))
    call([GCC, *compile_flags(cpu), "-fstack-usage", "-c", "alone.c", "-o", "alone.o"], folder)
    text, data, bss = (int(n) for n in call([SIZE, "alone.o"], folder).splitlines()[1].split()[:3])
    usage = Path(folder, "alone.su").read_text().splitlines()
    stack = sum(int(line.split("\t")[1]) for line in usage)
    return {"flash": text + data, "ram": data + bss + stack}
