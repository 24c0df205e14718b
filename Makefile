# Every target creates .venv and installs the packages that it needs.
PYTHON ?= python3
VENV := .venv
# On Windows, run make in the shell of Git. There, a virtual environment has its programs in Scripts.
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
CORE := $(wildcard native/*.hpp native/*.cpp src/treelet/device/cuda/*) CMakeLists.txt pyproject.toml
SANITIZED := build/sanitized
FUZZ_SECONDS ?= 600
CASES ?= 100000
JOBS ?= 2
, := ,
CLANG := $(shell command -v clang++)
# Reviewed exceptions to the security rules: the child processes of Link Grammar and git, XML of our own pictures,
# and pickles and eval in the testing helpers.
KNOWN := $(foreach place,parsing/link_parser.py:S603 formats/paths.py:S603 drawing/drawing.py:S314 \
	testing/*:S301 testing/*:S307,--per-file-ignores src/treelet/$(place))

.PHONY: setup demo test test-slow link-grammar chromium sanitize tsan fma arm bits fuzz fuzz-readers fuzz-native portable differential faults mutants bench load reproduce lint audit stubs format docs linkcheck dist wheels compilers minimum newest clean

setup: $(VENV)/.stamp-installed $(VENV)/.stamp-tools

$(VENV)/.stamp-build-tools: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("treelet needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -q --upgrade "pip>=25.1"
	@echo "Installing the build tools into $(VENV) ..."
	@$(BIN)/python -m pip install -q --group build
	@touch $@

$(VENV)/.stamp-tools: $(VENV)/.stamp-build-tools
	@echo "Installing the development tools into $(VENV) ..."
	@$(BIN)/python -m pip install -q --group dev
	@touch $@

$(VENV)/.stamp-installed: $(VENV)/.stamp-build-tools $(CORE)
	@echo "Building the native core ..."
	@$(BIN)/python -m pip install -q --no-build-isolation \
		--config-settings=cmake.define.TREELET_EMULATED=ON --editable .
	@touch $@

# The main job: rerank parses with the tree kernel. Then compare forests of the same candidates, and find similar functions
# in Python's own package asyncio. Takes about a minute once the core is built. The treebank is QuestionBank if the data
# folder has it. The explorer needs the extra web; pip does not build treelet again for an extra.
LIBRARY = $$($(BIN)/python -c 'import os; print(os.path.dirname(os.__file__))')
QUESTIONS := $(wildcard $(or $(TREELET_DATA),../shared/data)/questionbank/4000qs.mrg.xz)
demo: $(VENV)/.stamp-installed
	@mkdir -p build/demo
	@echo "Part 1 of 3. Choose the best parses of questions with the tree kernel (Collins & Duffy 2001): treelet rerank"
	@echo "The treebank is $(if $(QUESTIONS),QuestionBank: 4000 questions in $(QUESTIONS),generated, because the data folder has no QuestionBank)." && echo
	@$(BIN)/treelet rerank $(if $(QUESTIONS),$(QUESTIONS) --skip-bad --drop-empty --drop-function-tags --sizes 800$(,)200$(,)336) \
		--show 2 --jobs $(JOBS) --output build/demo --save build/demo/ranker.treelet
	@echo && echo "Part 2 of 3. The same candidates as packed forests (Zhang, Zhang & Li 2010): examples/forests.py" && echo
	@$(BIN)/python examples/forests.py $(QUESTIONS)
	@echo && echo "Part 3 of 3. The same engine on source code, Python's own package asyncio: treelet clones asyncio" && echo
	@cd "$(LIBRARY)" && "$(CURDIR)/$(BIN)/treelet" clones asyncio --top 2 --jobs $(JOBS) --html "$(CURDIR)/build/demo/clones.html"
	@$(BIN)/python -m pip install -q 'treelet[web]'
	@echo && echo "Open in a browser: build/demo/report.html (parses) and build/demo/clones.html (similar functions)."
	@echo "Compare trees and parse sentences in the browser: $(BIN)/treelet explore build/demo/ranker.treelet"
	@echo "Rerank your own treebank: $(BIN)/treelet rerank FILE. The papers behind it: docs/papers.md."

# There is one test worker per core, so each worker must use a single thread. Tests that depend on time, signals or peak
# memory follow, one at a time.
test: setup link-grammar
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) -m "not slow and not serial"
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 0 -m "serial and not slow"

# Link Grammar and Chromium are system packages. They are installed if we are root and apt-get exists; otherwise their tests
# are skipped. make test installs Link Grammar; Chromium is large, so only .ci/run asks for it.
system = @install() { DEBIAN_FRONTEND=noninteractive timeout 600 apt-get install -qq -y --no-install-recommends $(1); }; \
	if ! command -v $(2) && test "$$(id -u)" = 0 && command -v apt-get; then \
		install || { timeout 120 apt-get update -qq && install; }; \
	fi >/dev/null 2>&1; \
	command -v $(2) >/dev/null || echo "$(2) is not installed, so its tests are skipped. Run apt install $(1)."

link-grammar:
	$(call system,link-grammar,link-parser)

chromium:
	$(call system,chromium,chromium)

test-slow: setup
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) -m slow

# Sanitizer builds, each with its own copy of the package: address (AddressSanitizer and UBSan), thread (ThreadSanitizer).
$(SANITIZED)/%/.stamp: $(CORE) $(wildcard src/treelet/*.py src/treelet/*/*.py src/treelet/*/*/*.py) | setup
	@echo "Building the native core under sanitizers: $* ..."
	@rm -rf $(SANITIZED)/$*/site
	@$(BIN)/python -m pip install -q --no-build-isolation --no-deps --target $(SANITIZED)/$*/site \
		--config-settings=build-dir=$(SANITIZED)/$*/work --config-settings=install.strip=false --config-settings=cmake.define.TREELET_SANITIZE=$* \
		--config-settings=cmake.define.TREELET_EMULATED=ON .
	@touch $@

# Python runs with -S, in the workers too. Otherwise the editable install in .venv would shadow the sanitizer build.
under = LD_PRELOAD="$$($(CXX) -print-file-name=$(1).so) $$($(CXX) -print-file-name=libstdc++.so)" OMP_NUM_THREADS=1 \
	PYTHONPATH="$(CURDIR)/$(SANITIZED)/$(2)/site:$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"

# Test the native core and the CPU build of the device code.
sanitize: $(SANITIZED)/address/.stamp
	$(call under,libasan,address) ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
		$(BIN)/python -S -m pytest -q -p no:cacheprovider --dist load --tx "$(JOBS)*popen//python=$(BIN)/python -S" tests/native tests/device

# Test the threads. Reports go to files, because pytest would capture them. ThreadSanitizer needs a fixed memory layout,
# so setarch -R turns off address space randomization.
tsan: $(SANITIZED)/thread/.stamp
	@rm -f $(SANITIZED)/thread/report.*
	$(call under,libtsan,thread) OPENBLAS_NUM_THREADS=1 \
		TSAN_OPTIONS="suppressions=$(CURDIR)/tests/native/tsan.supp log_path=$(CURDIR)/$(SANITIZED)/thread/report" \
		setarch -R $(BIN)/python -S -m pytest -q -p no:cacheprovider -k threads tests/native tests/structures/test_banks.py tests/learn/test_nearest.py \
		|| { cat $(SANITIZED)/thread/report.* 2>/dev/null; exit 1; }

# Build for x86 processors with FMA. With contraction, a value would depend on the loop that computes it: the test
# fails. On processors of other kinds, make test checks the same.
build/fma/.stamp: $(CORE) $(wildcard src/treelet/*.py src/treelet/*/*.py src/treelet/*/*/*.py) | setup
	@rm -rf build/fma
	@CXXFLAGS=-march=x86-64-v3 $(BIN)/python -m pip install -q --no-build-isolation --no-deps --target build/fma/site \
		--config-settings=build-dir=build/fma/work .
	@touch $@

fma: $(if $(shell grep -sm1 -ow fma /proc/cpuinfo),build/fma/.stamp)
ifeq ($(shell grep -sm1 -ow fma /proc/cpuinfo),)
	@echo "This processor is not an x86 processor with FMA, so the build for FMA cannot run."
else
	PYTHONPATH="$(CURDIR)/build/fma/site:$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" \
		$(BIN)/python -S -m pytest -q -p no:cacheprovider -k test_all_ways_to_the_same_matrix tests/native/test_core.py
endif

# Build for Linux on ARM and run the native, kernel, edit, structure, persistence and parsing tests under emulation. Needs
# Debian or Ubuntu, and root; otherwise it says why not. Takes about ten minutes, the first time a few more.
arm: setup
	tools/arm.sh "$(CURDIR)/build/arm" "$(CURDIR)/$(BIN)/python" $(JOBS)

# Compare the values of all kernels, bit by bit: this processor, this build on a processor without FMA (emulated), the
# build of make fma, and ARM, as far as these exist.
SITE = $$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
OLD_X86 := $(if $(filter x86_64,$(shell uname -m)),$(shell command -v qemu-x86_64-static))
bits: setup
	@mkdir -p build/bits
	$(BIN)/python tools/bits.py --save build/bits/here.npz
	$(if $(OLD_X86),OPENBLAS_CORETYPE=Nehalem $(OLD_X86) -cpu Nehalem $(BIN)/python tools/bits.py --save build/bits/without.npz)
	$(if $(wildcard build/fma/.stamp),PYTHONPATH="$(CURDIR)/build/fma/site:$(SITE)" $(BIN)/python -S tools/bits.py --save build/bits/fma.npz)
	@$(BIN)/python tools/bits.py here=build/bits/here.npz $(if $(OLD_X86),"without FMA=build/bits/without.npz") \
		$(if $(wildcard build/fma/.stamp),x86-64-v3=build/bits/fma.npz) $(if $(wildcard build/arm/bits.npz),ARM=build/arm/bits.npz)

# Fuzz the readers and the native core, for example with make fuzz FUZZ_SECONDS=7200. Findings are written to
# build/fuzz/findings and build/fuzz/native-findings.
fuzz: fuzz-readers fuzz-native

$(VENV)/.stamp-fuzz: pyproject.toml | setup
	@$(BIN)/python -m pip install -q --group fuzz
	@touch $@

fuzz-readers: $(VENV)/.stamp-fuzz
	$(BIN)/python tests/fuzz/run.py $(FUZZ_SECONDS)

# libFuzzer is part of clang. GCC has no equivalent.
NATIVE_TARGETS := core forests sequences
build/fuzz/native_%: tests/fuzz/native_%.cpp tests/fuzz/native_checks.hpp $(wildcard native/*.hpp)
	@mkdir -p build/fuzz
	clang++ -std=c++20 -O1 -gline-tables-only -fno-omit-frame-pointer -fsanitize=fuzzer,address,undefined \
		-fno-sanitize-recover=undefined -Inative $< -o $@

# The targets share the time equally. After a finding, the remaining targets still run.
fuzz-native: $(if $(CLANG),$(NATIVE_TARGETS:%=build/fuzz/native_%))
ifeq ($(CLANG),)
	@echo "clang++ is not installed, so the native core is not fuzzed. Run apt install clang libclang-rt-14-dev, or the equivalent on your system."
else
	@mkdir -p build/fuzz/native-findings $(NATIVE_TARGETS:%=build/fuzz/native/%)
	@failed=0; for target in $(NATIVE_TARGETS); do \
		echo "native $$target"; \
		build/fuzz/native_$$target -max_total_time=$$(( $(FUZZ_SECONDS) / $(words $(NATIVE_TARGETS)) )) -max_len=2000 -timeout=60 \
			$$(test $$target = core && echo -dict=tests/fuzz/brackets.dict || echo -len_control=0) -artifact_prefix=build/fuzz/native-findings/$$target- \
			-print_final_stats=1 build/fuzz/native/$$target tests/fuzz/corpus/native-$$target || failed=1; \
	done; exit $$failed
endif

# Install the compilers of portable and fuzz. Needs Debian or Ubuntu, and root.
compilers:
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends \
		clang libclang-rt-dev libc++-dev libc++abi-dev g++-mingw-w64-x86-64-posix

# Compile the native core with the compilers of other systems, without linking: Clang, Clang with the standard
# library of macOS, and MinGW-w64 for Windows. Zig, which pip installs, adds macOS, Linux with musl, and Windows. For Windows,
# the bindings are skipped, because they need Python's headers for Windows. Compilers that are not installed are skipped.
STRICT := -std=c++20 -c -o build/portable.o -Wall -Wextra -Wpedantic -Werror -Inative
ZIG := $(foreach target,aarch64-macos x86_64-macos aarch64-linux-musl x86_64-linux-musl x86_64-windows-gnu,"$(BIN)/python -m ziglang c++ -target $(target)")
$(VENV)/.stamp-zig: pyproject.toml | setup
	-@$(BIN)/python -m pip install -q --group zig
	@touch $@

portable: $(VENV)/.stamp-zig
	@set -e; include="-isystem $$($(BIN)/python -m nanobind --include_dir) -isystem $$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("include"))')"; \
	mkdir -p build && echo '#include <version>' > build/version.cpp && printf '#include "%s"\n' $(filter-out bindings%,$(notdir $(wildcard native/*.hpp))) > build/headers.cpp; \
	for compiler in "clang++" "clang++ -stdlib=libc++" x86_64-w64-mingw32-g++-posix $(ZIG); do \
		case $$compiler in *mingw*|*windows*) sources="build/headers.cpp tests/fuzz/native_core.cpp";; *) sources="native/*.cpp tests/fuzz/native_core.cpp";; esac; \
		if ! $$compiler -std=c++20 -c -o build/portable.o build/version.cpp 2>/dev/null; then echo "$$compiler: not installed"; continue; fi; \
		for source in $$sources; do $$compiler $(STRICT) $$include $$source; done; echo "$$compiler: no warnings"; \
	done

# Compare every kernel, parser and estimator with a slow reference implementation. Takes about 40 minutes. An interrupted
# run can be resumed by repeating it. The results page is written to build/differential.
differential: setup
	$(BIN)/python tests/differential/run.py --cases $(CASES)
	$(BIN)/python tests/differential/run.py --pages build/differential

# Inject faults: killed processes, full disks, lack of memory, damaged files. Takes about 15 minutes.
# make faults FAULTS=damage runs one part (see tests/faults/run.py).
faults: setup
	OMP_NUM_THREADS=1 $(BIN)/python tests/faults/run.py $(FAULTS)

# Mutation testing: change the native core in one place at a time. The tests must fail each time.
mutants: setup
	$(BIN)/python tools/mutants.py

bench: setup
	$(BIN)/python -m benchmarks.run
	$(BIN)/python -m benchmarks.parsing
	$(BIN)/python -m benchmarks.reranking
	$(BIN)/python -m benchmarks.rls
	$(BIN)/python -m benchmarks.nearest
	$(BIN)/python -m benchmarks.locality
	$(BIN)/python -m benchmarks.on_dask
	$(BIN)/python -m benchmarks.stored
	$(BIN)/python -m benchmarks.scale
	$(BIN)/python -m benchmarks.training
	$(BIN)/python -m benchmarks.sketch
	$(BIN)/python -m benchmarks.fragment_features
	$(BIN)/python -m benchmarks.diff
	@$(BIN)/python -m pip install -q --group peers
	$(BIN)/python -m benchmarks.teds
	$(BIN)/python -m benchmarks.edits
	$(BIN)/python -m benchmarks.edit_calibration
	$(BIN)/python -m benchmarks.clones

# Test the explorer and models under load, ten minutes each. This is not part of bench, which needs idle cores.
load: setup
	$(BIN)/python -m benchmarks.load

# Reproduce published experiments. make reproduce lists them; make reproduce EXPERIMENT=questions OPTIONS=--quick runs one.
reproduce: setup
	$(BIN)/python -m experiments $(EXPERIMENT) $(if $(EXPERIMENT),--jobs $(JOBS) --out build/results $(OPTIONS))

SPELLED := src docs tests tools benchmarks experiments examples native paper README.md CONTRIBUTING.md CHANGELOG.md CODE_OF_CONDUCT.md \
	SECURITY.md Makefile
# The second command checks bandit's security rules, as implemented by ruff. Allowed everywhere: assert, random numbers and
# the import of subprocess, whose calls are checked instead.
lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff check --select S --ignore S101,S311,S404 $(KNOWN) src
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror native/* src/treelet/device/cuda/* tests/fuzz/*.?pp
	$(BIN)/mypy
	$(BIN)/python tools/typed_examples.py
	$(BIN)/lint-imports
	$(BIN)/python tools/house.py
	$(BIN)/codespell $(SPELLED)

# Look for known vulnerabilities of the dependencies. This needs an online service, so it is not part of lint.
# With --strict, a package that the service does not know is an error.
audit: setup
	@$(PYTHON) -m venv build/audit && build/audit/bin/python -m pip install -q pip-audit
	@$(BIN)/python -m pip freeze --exclude-editable > build/audit/installed.txt
	build/audit/bin/python -m pip_audit --strict --disable-pip --no-deps -r build/audit/installed.txt

stubs: setup
	$(BIN)/python -m nanobind.stubgen -m treelet._core -o src/treelet/_core.pyi

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/clang-format -i native/* src/treelet/device/cuda/* tests/fuzz/*.?pp

# Build the site in build/site. Every warning is an error: a broken link, a page missing from the contents, a failing cell.
$(VENV)/.stamp-docs: pyproject.toml | setup
	@echo "Installing the packages for the site into $(VENV) ..."
	@$(BIN)/python -m pip install -q --group docs
	@touch $@

docs: $(VENV)/.stamp-docs
	$(BIN)/python -m sphinx -W --keep-going -q -j $(JOBS) -d build/doctrees docs build/site
	@echo "The site: build/site/index.html"

# Check the links of the site to other servers.
linkcheck: $(VENV)/.stamp-docs
	$(BIN)/python -m sphinx -b linkcheck -q -j $(JOBS) -d build/doctrees docs build/linkcheck

# Build the files of a release in dist: the source distribution, and wheels built from it in clean environments. Each wheel
# is tested by tools/try_wheel.py. For several Python versions: make dist PYTHONS="python3.11 python3.12 python3.13".
# From Python 3.12 on, one wheel works for all versions.
PYTHONS ?= $(PYTHON)
dist:
	@rm -rf dist build/dist && $(PYTHON) -m venv build/dist/tools
	@build/dist/tools/bin/python -m pip install -q "build>=1.2" auditwheel twine
	build/dist/tools/bin/python -m build -q --sdist --outdir dist .
	@set -e; for python in $(PYTHONS); do \
		$$python -m pip download -q --no-deps --no-index --find-links dist --only-binary :all: --dest build/dist/wheel treelet 2>/dev/null || \
			$$python -m pip wheel -q --no-deps --wheel-dir build/dist/wheel dist/*.tar.gz; \
		$$python tools/try_wheel.py build/dist/wheel/*.whl build/dist/tried; \
		mv build/dist/wheel/*.whl dist; \
	done
	build/dist/tools/bin/python -m twine check --strict dist/*
	@for wheel in dist/*.whl; do build/dist/tools/bin/python -m auditwheel show $$wheel; done

# Build and test the wheels of this system for all supported versions of Python in dist. On Linux, this needs Docker.
# pyproject.toml contains the settings. CIBWFLAGS=--print-build-identifiers lists the wheels only.
wheels:
	@$(PYTHON) -m venv build/wheels
	@build/wheels/$(notdir $(BIN))/python -m pip install -q "cibuildwheel>=4,<5"
	build/wheels/$(notdir $(BIN))/python -m cibuildwheel --output-dir dist $(CIBWFLAGS)

# minimum: run the tests with the oldest versions that pyproject.toml allows, of all dependencies and extras except cuda.
# newest: run the same tests with the newest versions. Deprecation warnings caused by treelet are errors.
QUICK := tests/native tests/test_package.py tests/matrices/test_gram.py tests/matrices/test_stored.py tests/matrices/test_dask.py \
	tests/learn/test_learn.py tests/learn/test_persist.py tests/cli/test_cli.py tests/structures/test_table.py tests/drawing/test_draw.py \
	tests/formats/test_files.py tests/formats/test_markup.py tests/formats/test_formats.py tests/explorer/test_explorer.py tests/report/test_widget.py
minimum:
	@rm -rf build/minimum && $(PYTHON) -m venv build/minimum/venv
	@$(PYTHON) tools/minimum.py > build/minimum/oldest.txt
	build/minimum/venv/bin/python -m pip install -q -r build/minimum/oldest.txt pytest hypothesis pytest-xdist httpx .
	build/minimum/venv/bin/python tools/smoke.py
	OMP_NUM_THREADS=1 build/minimum/venv/bin/python -m pytest -q -n $(JOBS) -p no:cacheprovider $(QUICK)

newest:
	@rm -rf build/newest && $(PYTHON) -m venv build/newest
	build/newest/bin/python -m pip install -q --upgrade pytest hypothesis pytest-xdist httpx '.[all]'
	OMP_NUM_THREADS=1 build/newest/bin/python -m pytest -q -n $(JOBS) -p no:cacheprovider \
		-o "filterwarnings=$$(printf 'error::%s:treelet\n' RuntimeWarning DeprecationWarning PendingDeprecationWarning FutureWarning)" $(QUICK)

clean:
	rm -rf build dist $(VENV)
