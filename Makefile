# Every target sets itself up: a virtual environment in .venv, the build tools, the package.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
CPP := $(shell find cpp -name '*.h' -o -name '*.cpp')
SOURCES := pyproject.toml CMakeLists.txt $(CPP)
# One BLAS thread: the tests compare bits and the benchmarks compare single threads.
ENV := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1

PYTEST = $(ENV) $(BIN)/python -m pytest --numprocesses auto --dist worksteal
CMAKE := PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/cmake

.NOTPARALLEL:
.PHONY: help demo test test-cluster test-bits test-sklearn test-oldest test-estimators lint format bench bench-blocked bench-predictors bench-scale bench-selection bench-suite bench-teachers reproduce reproduce-full sanitize fuzz test-arm test-embedded bench-c bench-onnx clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.ready-report  ## accuracy against MACs and time on bundled data, beside rivals
	$(BIN)/cerf demo

test: $(VENV)/.ready-test  ## all tests, in parallel (about 11 minutes on two cores)
	$(PYTEST) --ignore=tests/embedded

test-cluster: $(VENV)/.ready-test  ## fits whose workers, scheduler or process are killed (about five minutes)
	$(ENV) $(BIN)/python -m pytest -m cluster tests/cluster

test-bits: $(VENV)/.ready-test  ## fitted arrays and outputs against recorded digests, on the CPU they were recorded on
	$(ENV) PYTHONPATH=tests $(BIN)/python -m digests.record --compare

test-sklearn: $(VENV)/.ready-test  ## estimators on the newest and the oldest supported scikit-learn
	$(PYTEST) tests/estimators tests/rivals
	$(MAKE) test-oldest

test-oldest:  ## estimators on the oldest supported scikit-learn (1.6)
	$(MAKE) VENV=.venv-oldest .venv-oldest/.ready-test
	.venv-oldest/bin/python -m pip install --quiet 'scikit-learn==1.6.*' 'numpy==2.2.*' 'scipy==1.14.*'
	$(MAKE) VENV=.venv-oldest test-estimators

test-estimators:
	$(PYTEST) tests/estimators tests/rivals tests/persistence

lint: $(VENV)/.ready-dev  ## ruff, mypy, clang-format, codespell; C++ without warnings by GCC and Clang
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(CPP)
	$(BIN)/codespell *.md *.toml src tests benchmarks experiments cpp docs
	@for compiler in g++ clang++; do \
	  if command -v $$compiler >/dev/null; then \
	    echo "C++ core, tests and bindings by $$compiler, warnings are errors"; \
	    $(CMAKE) -S . -B build/lint-$$compiler -G Ninja -DCMAKE_CXX_COMPILER=$$compiler --log-level=WARNING \
	      -DCERF_TESTS=ON -DCERF_WERROR=ON -DPython_EXECUTABLE="$(CURDIR)/$(BIN)/python" \
	      -Dnanobind_DIR="$$($(BIN)/python -m nanobind --cmake_dir)" && \
	    $(CMAKE) --build build/lint-$$compiler --target cerf_tests CMakeFiles/_core.dir/cpp/bindings.cpp.o CMakeFiles/_core.dir/cpp/bindings_training.cpp.o \
	      || exit 1; \
	  else echo "$$compiler is absent (Debian: apt-get install g++ clang): not built with it"; fi; \
	done

format: $(VENV)/.ready-dev  ## format Python and C++
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CPP)

bench: $(VENV)/.ready-test  ## feature maps against their rivals, one run; tables against cosines; writes docs/speed.md
	$(ENV) $(BIN)/python benchmarks/transform.py
	$(ENV) $(BIN)/python benchmarks/tables.py
	$(BIN)/python benchmarks/render.py

bench-blocked: $(VENV)/.ready-test  ## blocked CERF against blocked RFF (Table 2); needs CERF_DATA; writes docs/blocked.md and blocked_tables.md
	$(ENV) $(BIN)/python benchmarks/blocked.py --fresh

bench-predictors: $(VENV)/.ready-test  ## predictors against rivals at equal cost; needs CERF_DATA; writes docs/predictors_ten.md
	$(ENV) $(BIN)/python benchmarks/predictors.py all
	$(BIN)/python benchmarks/render_predictors.py

bench-scale: $(VENV)/.ready-test  ## time and memory as rows grow, by engine; many workers, simulated; fills docs/large_data.md
	$(ENV) $(BIN)/python benchmarks/scale.py run --again
	$(BIN)/python benchmarks/scale.py render

bench-selection: $(VENV)/.ready-test  ## accuracy and cost of selectors; needs CERF_DATA; writes docs/selection.md
	$(ENV) $(BIN)/python benchmarks/selection.py all
	$(ENV) $(BIN)/python benchmarks/render_selection.py

bench-suite: $(VENV)/.ready-test  ## predictors against rivals on the development suite, 38 datasets; needs CERF_DATA; fills docs/predictors.md and suite.md
	$(ENV) $(BIN)/python benchmarks/suite.py run
	$(ENV) $(BIN)/python benchmarks/rows.py run --mlp
	$(ENV) $(BIN)/python benchmarks/rows.py run --data mnist
	$(ENV) $(BIN)/python benchmarks/rows.py run --data mnist --shape
	$(ENV) $(BIN)/python benchmarks/continuity.py
	$(BIN)/python benchmarks/render_suite.py

bench-teachers: $(VENV)/.ready-test  ## what features should imitate; needs CERF_DATA; writes docs/teachers.md and teachers.svg
	$(ENV) $(BIN)/python benchmarks/teachers.py
	$(ENV) $(BIN)/python benchmarks/render_teachers.py

reproduce: $(VENV)/.ready-test  ## the paper's tables and figures, one seed, under 10 minutes; needs CERF_DATA; page in build/experiments/quick
	$(BIN)/python -m experiments run --size quick --jobs 2
	$(BIN)/python -m experiments render --size quick

reproduce-full: $(VENV)/.ready-test  ## the paper's protocol, under 100 minutes, goes on where it was stopped; writes experiments/results, docs/reproduction.md and its tables
	$(BIN)/python -m experiments run --size full --jobs 2
	$(BIN)/python -m experiments render --size full

sanitize: $(VENV)/.ready-build  ## C++ tests under AddressSanitizer and UndefinedBehaviorSanitizer
	$(CMAKE) -S . -B build/sanitize -G Ninja -DCERF_PYTHON=OFF -DCERF_TESTS=ON -DCERF_SANITIZE=ON
	$(CMAKE) --build build/sanitize --target cerf_tests
	build/sanitize/cerf_tests

FUZZ_SECONDS ?= 600
ASAN = LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" ASAN_OPTIONS=detect_leaks=0

fuzz: $(VENV)/.ready-test  ## changed model files for FUZZ_SECONDS (600): guided by coverage (atheris), and with sanitizers in the core
	$(CMAKE) -S . -B build/fuzz-core -G Ninja -DCERF_SANITIZE=ON -DCMAKE_CXX_COMPILER=g++ -DPython_EXECUTABLE="$(CURDIR)/$(BIN)/python" \
	  -Dnanobind_DIR="$$($(BIN)/python -m nanobind --cmake_dir)"
	$(CMAKE) --build build/fuzz-core --target _core
	rm -rf build/fuzz-package && mkdir -p build/fuzz-package && cp -r src/cerflearn build/fuzz-package/
	cp build/fuzz-core/_core*.so build/fuzz-package/cerflearn/_native/
	$(ASAN) $(ENV) $(BIN)/python tests/persistence/fuzz.py mutate --seconds $(FUZZ_SECONDS) --package build/fuzz-package
	@if $(BIN)/python -m pip install --quiet 'atheris>=2.3'; then \
	  $(ENV) $(BIN)/python tests/persistence/fuzz.py atheris --seconds $(FUZZ_SECONDS); \
	else echo "atheris does not install here: structured changes alone were run"; fi

test-embedded: $(VENV)/.ready-embedded  ## exported integers on Cortex-M0, M3, M4 and M33, emulated by QEMU, against the host's
	$(PYTEST) -o testpaths=tests/embedded tests/embedded

bench-c: $(VENV)/.ready-test  ## exported C: agreement, memory, time; needs CERF_DATA; writes docs/c_export.md
	$(ENV) $(BIN)/python benchmarks/c_export.py run
	$(BIN)/python benchmarks/c_export.py render

bench-onnx: $(VENV)/.ready-test  ## two forms of phases in ONNX Runtime, for the table of docs/onnx.md
	$(ENV) $(BIN)/python benchmarks/onnx_forms.py run

test-arm: $(VENV)/.ready-arm  ## C++ tests on 64-bit ARM: cross-compiled by zig c++, run by QEMU
	$(CMAKE) -S . -B build/arm -G Ninja --toolchain cpp/tools/aarch64.cmake \
	  -DCERF_ZIG="$(CURDIR)/$(BIN)/python" -DCERF_PYTHON=OFF -DCERF_TESTS=ON -DCERF_WERROR=ON
	$(CMAKE) --build build/arm
	qemu-aarch64-static build/arm/cerf_tests
	qemu-aarch64-static build/arm/cerf_accuracy

clean:  ## remove environments and build products
	rm -rf $(VENV) .venv-oldest build

# --- set-up -----------------------------------------------------------------------------------
$(VENV)/.ready-build: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "cerflearn needs Python 3.11 or newer: make PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
	  { echo "Python's venv module is missing (Debian: apt-get install python3-venv)"; exit 1; }
	@$(PYTHON) -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' || \
	  { echo "Python.h is missing (Debian: apt-get install python3-dev)"; exit 1; }
	@command -v $${CXX:-c++} >/dev/null || \
	  { echo "no C++ compiler found (Debian: apt-get install g++), or set CXX"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet 'scikit-build-core>=0.10' 'nanobind>=2.4' 'cmake>=3.18' ninja
	@touch $@

# No build isolation: the build folder is kept, so that a change recompiles only what it touches.
$(VENV)/.ready-%: $(VENV)/.ready-build $(SOURCES)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pip install --quiet --no-build-isolation --editable '.[$*]'
	@touch $@

$(VENV)/.ready-dev: $(VENV)/.ready-build pyproject.toml
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pip install --quiet --no-build-isolation --editable '.[dev]'
	@touch $@

$(VENV)/.ready-embedded: $(VENV)/.ready-test
	@{ command -v arm-none-eabi-gcc && command -v qemu-system-arm; } >/dev/null || \
	  { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update && apt-get install -y gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm; } || \
	  { echo "arm-none-eabi-gcc or qemu-system-arm is missing (Debian: apt-get install gcc-arm-none-eabi qemu-system-arm)"; exit 1; }
	@touch $@

$(VENV)/.ready-arm: $(VENV)/.ready-build
	@command -v qemu-aarch64-static >/dev/null || \
	  { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update && apt-get install -y qemu-user-static; } || \
	  { echo "qemu-aarch64-static is missing (Debian: apt-get install qemu-user-static)"; exit 1; }
	$(BIN)/python -m pip install --quiet 'ziglang>=0.13'
	@touch $@
