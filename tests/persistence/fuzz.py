"""Look for files that crash, hang or fill memory: longer than the tests do.

    python tests/persistence/fuzz.py mutate --seconds 600     # structured changes of good files
    python tests/persistence/fuzz.py atheris --seconds 600    # guided by coverage; needs atheris

``--package FOLDER`` takes cerflearn from a folder, for a core that was built with sanitizers.
Files that are found are written to ``build/fuzz``.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
import types
import warnings
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOUND = ROOT / "build" / "fuzz"
LONGEST = 5.0  # seconds
MOST_MEMORY = 4 * 2**30


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("how", choices=("mutate", "atheris"))
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--package", type=Path, help="folder that holds the package cerflearn")
    return parser.parse_args()


def use(package: Path | None) -> None:
    """Import cerflearn from a folder, before an installed one."""
    sys.path.insert(0, str(ROOT / "tests"))
    if package is not None:
        finders = [f for f in sys.meta_path if "ScikitBuild" not in type(f).__name__]
        sys.meta_path[:] = finders
        sys.path.insert(0, str(package.resolve()))


def good_files() -> dict[str, tuple[bytes, object]]:
    """Bytes of a good file of each kind, and rows for its model."""
    import tempfile

    from cerflearn import save
    from persistence.stored_models import MODELS

    files = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.cerf"
        for name, build in MODELS.items():
            model, X = build()
            save(model, path)
            files[name] = path.read_bytes(), X
    return files


def check(content: bytes, X: object = None) -> bool:
    """Load one file, and run the model if there are rows for it; True if it loads."""
    import numpy as np

    from cerflearn import CerfFormatError
    from cerflearn.persistence.model_file import decoded
    from persistence.test_mutations import run

    begin = time.perf_counter()
    try:
        model = decoded(memoryview(bytearray(content)))
    except CerfFormatError:
        return False
    if X is not None:
        with np.errstate(all="ignore"):
            run(model, X)
    if time.perf_counter() - begin > LONGEST:
        raise RuntimeError(f"it took more than {LONGEST} seconds")
    return True


def keep(content: bytes, error: BaseException) -> None:
    FOUND.mkdir(parents=True, exist_ok=True)
    path = FOUND / f"found-{abs(hash(content)):x}.cerf"
    path.write_bytes(content)
    print(f"{type(error).__name__}: {error}: {path}", flush=True)


def mutate(seconds: float, seed: int) -> int:
    """Change good files at random until the time is over; return how many were bad."""
    from persistence.mutations import Mutator

    files = good_files()
    mutators = [(Mutator(content, seed + i), X) for i, (content, X) in enumerate(files.values())]
    n_files = n_loaded = n_bad = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for mutator, X in mutators:
            content = mutator.mutate()
            n_files += 1
            try:
                n_loaded += check(content, X)
            except Exception as error:
                n_bad += 1
                keep(content, error)
    print(f"{n_files} files, {n_loaded} loaded and run, {n_bad} bad")
    return n_bad


def functions_of(package: str) -> list[types.FunctionType]:
    """Functions and methods that the imported modules of a package define."""
    modules = [module for name, module in sys.modules.items() if name.startswith(package)]
    found = []
    for module in modules:
        own = [v for v in vars(module).values() if getattr(v, "__module__", "") == module.__name__]
        for value in own:
            members = vars(value).values() if isinstance(value, type) else [value]
            found += [member for member in members if isinstance(member, types.FunctionType)]
    return found


def guided(seconds: float, seed: int) -> None:
    """Let atheris look for new branches; it ends the process."""
    import atheris

    import cerflearn.persistence.model_file  # noqa: F401

    for function in functions_of("cerflearn.persistence"):
        atheris.instrument_func(function)
    from cerflearn.files.container import digest_of, header_of, unpack
    from cerflearn.files.format_error import CerfFormatError
    from cerflearn.files.strict_json import canonical, parse

    corpus = FOUND / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for name, (content, _) in good_files().items():
        (corpus / name).write_bytes(content)

    def one(content: bytes) -> None:
        check(content)
        try:  # the same once more with a right checksum, so that what is behind it is reached
            found = unpack(memoryview(content))
            document = parse(found.document, "document")
        except CerfFormatError:
            return
        if isinstance(document, dict):
            document["digest"] = digest_of(document, found.table, found.data)
            try:
                header = header_of(found.table, canonical(document))
            except CerfFormatError:
                return
            check(header + bytes(found.data))

    options = [f"-max_total_time={int(seconds)}", f"-seed={seed + 1}", "-timeout=5"]
    options += ["-max_len=65536", f"-artifact_prefix={FOUND}/", "-rss_limit_mb=2048"]
    atheris.Setup([sys.argv[0], *options, str(corpus)], one)
    atheris.Fuzz()


def main() -> None:
    """Run one of the two."""
    given = arguments()
    use(given.package)
    warnings.simplefilter("ignore")
    if given.package is None:  # sanitizers reserve far more addresses than they use
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    import cerflearn

    print(f"cerflearn from {'the folder given' if given.package else cerflearn.__version__}")
    if given.how == "atheris":
        guided(given.seconds, given.seed)
    elif mutate(given.seconds, given.seed):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
