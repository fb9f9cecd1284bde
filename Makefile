# make demo   the examples, from nothing; one is a page in the browser, and ends if nobody opens it
# make test   what must hold before a change lands, from nothing: the checks, and tests of every part, with matrices of parameters pairwise;
#             at most 12 minutes on two cores, 8 if the kernels are cached
# make test-full  everything, before a release or the end of a large change: matrices in full, examples, papers, benchmarks, the site,
#             branch coverage of at least 95 %, Spark Connect, the oldest Spark; about an hour
# make soak   every algorithm compiled for every aggregate that fits it, over columns of every form, against the oracle;
#             streams on Spark whose driver is killed twenty times, and whose keys come and go for long;
#             ten minutes of kills of a stream whose states a store serves (SASH_SOAK_SECONDS=60 for one);
#             five minutes of the live page at 50,000 results per second; the tests on Spark on each supported version;
#             ten minutes of make fuzz
# make fuzz   random queries over random data against the oracle, for SECONDS=300; a finding comes with its reproduction
# make bench  Sash beside pandas, Polars, DuckDB, bottleneck, numbagg, Spark, Flink, Pathway and Bytewax: checked, timed, drawn
#             (make bench-quick: only to see that it runs, with those of Flink, Pathway and Bytewax that are installed)
# make bench-algorithms  the papers' experiments, and every algorithm beside the one that Sash chooses
# make bench-large  tables of 10 M and 100 M rows in one process, and 1,000 M on Spark; files larger than memory; streams of
#             millions of keys: hours, and 24 GB of memory
#             (make bench-large-quick: only to see that it runs)
# make dist   the wheel and the source archive: checked, and installed with each extra on each Python from 3.11 to 3.13 that is found
# make costs  what each algorithm costs beside two_stacks: checked, timed, written where plan/choose.py reads it
# make docs   the documentation as a site, in build/docs; needs no network once .venv is made (make pictures: draws its pictures again)
# All make the virtual environment in .venv and see to Java first. Python: make test PYTHON=python3.12

PYTHON ?= python3
BIN := .venv/bin
CORES ?= 2
SECONDS ?= 300
DRAWN := 05_features 06_sensors 07_flights 08_market 11_four_lives # the examples whose pictures docs/examples.md shows
OLDEST_SPARK := 4.1.4
OLD_SPARKS := $(OLDEST_SPARK) 4.2.1 # the newest is in .venv
ENGINES := flink pathway bytewax # what benchmarks/engines runs beside Sash

.PHONY: help demo test test-local test-spark test-check test-full soak fuzz bench bench-quick bench-algorithms bench-large bench-large-quick dist costs docs pictures check format clean

help:
	@sed -n '/^#/!q; s/^# //p' Makefile

demo: .venv/ready
	@$(BIN)/python examples/01_first_window.py
	@$(BIN)/python examples/02_query.py
	@$(BIN)/python examples/03_spark.py
	@$(BIN)/python examples/04_stream.py
	@$(BIN)/python examples/05_features.py
	@$(BIN)/python examples/06_sensors.py
	@$(BIN)/python examples/07_flights.py
	@$(BIN)/python examples/08_market.py
	@$(BIN)/python examples/09_live.py
	@$(BIN)/python examples/10_daily_job.py
	@$(BIN)/python examples/11_four_lives.py

test test-full: export SASH_TESTS_CACHE = $(CURDIR)/build/kernels
test: .venv/ready
	@mkdir -p build && rm -f build/durations.txt
	@$(MAKE) --no-print-directory --keep-going -j 3 test-local test-spark test-check

# The three parts of make test. They run at the same time, so that no core waits for Spark, which often waits itself. Spark comes first:
# it takes longest, and gives up a Python worker that does not start within ten seconds.
test-local: .venv/chromium .venv/redis
	nice -n 5 $(BIN)/python -m pytest -q -n $(CORES) --dist worksteal -m 'not session'

test-spark: .venv/ready .venv/redis
	@$(BIN)/python -m pytest -q -m session tests/spark > build/spark.txt 2>&1; classic=$$?; \
	SASH_SPARK=connect $(BIN)/python -m pytest -q -m 'session and connect' tests/spark > build/connect.txt 2>&1; connect=$$?; \
	for run in spark connect; do echo "$$run:"; tail -n 40 build/$$run.txt; done; exit $$((classic + connect))

test-check: .venv/ready
	@nice -n 5 $(MAKE) --no-print-directory check > build/check.txt 2>&1; check=$$?; cat build/check.txt; exit $$check

test-full: export SASH_FULL = 1
test-full: .venv/chromium .venv/redis
	@$(MAKE) --no-print-directory -j 2 check .venv-spark$(OLDEST_SPARK)/ready
	@mkdir -p build && rm -f build/durations.txt
	$(BIN)/python -m pytest -q -n $(CORES) --dist worksteal -m 'not session' --cov --cov-report=
	@echo "the tests on Spark: a classic session; at the same time one of Spark Connect, then some on the oldest Spark, $(OLDEST_SPARK)"
	@{ SASH_SPARK=connect $(BIN)/python -m pytest -q -m session tests/spark > build/connect.txt 2>&1; connect=$$?; \
	   .venv-spark$(OLDEST_SPARK)/bin/python -m pytest -q -m oldest tests/spark > build/oldest.txt 2>&1; exit $$((connect + $$?)); } & others=$$!; \
	$(BIN)/python -m pytest -q -m session tests/spark --cov --cov-append --cov-report=term --cov-fail-under=95; classic=$$?; \
	wait $$others; others=$$?; for run in connect oldest; do echo "$$run:"; tail -n 40 build/$$run.txt; done; exit $$((classic + others))

soak: .venv/chromium .venv/redis $(OLD_SPARKS:%=.venv-spark%/ready)
	SASH_SOAK=1 $(BIN)/python -m pytest -q -n $(CORES) -m 'not session' tests/kernels tests/aggregator tests/algorithms \
		tests/benchmarks tests/language tests/live tests/state tests/spark tests/test_four_lives.py
	for version in $(OLD_SPARKS); do .venv-spark$$version/bin/python -m pytest -q -m session tests/spark || exit 1; done
	$(BIN)/python -m pytest -q -m session tests/spark
	$(MAKE) --no-print-directory fuzz SECONDS=600

fuzz: .venv/ready
	PYTHONPATH=tests $(BIN)/python -m fuzz --seconds $(SECONDS)

bench: .venv/redis $(ENGINES:%=.venv-%/ready)
	$(BIN)/python -m benchmarks all
	$(BIN)/python -m benchmarks.plots
	$(BIN)/python -m benchmarks.pages

bench-quick: .venv/redis
	$(BIN)/python -m benchmarks all --quick

bench-algorithms: .venv/ready
	$(BIN)/python -m benchmarks algorithms
	$(BIN)/python -m benchmarks.plots
	$(BIN)/python -m benchmarks.papers.page
	$(BIN)/python -m benchmarks.pages

bench-large: .venv/ready
	$(BIN)/python -m benchmarks large
	$(BIN)/python -m benchmarks.spark_memory
	$(BIN)/python -m benchmarks.pages

bench-large-quick: .venv/ready
	$(BIN)/python -m benchmarks large --quick

dist: .venv-dist/ready
	@bash tools/dist.sh

costs: .venv/ready
	$(BIN)/python -m benchmarks.costs
	$(BIN)/python -m tools.pictures # the pages of algorithms show costs

docs: .venv/ready
	$(BIN)/sphinx-build -q -W --keep-going -c docs . build/docs
	@echo "open build/docs/index.html"

pictures: .venv/ready
	$(BIN)/python -m tools.pictures
	$(BIN)/python -m tools.notebook examples/tour.ipynb
	@for example in $(DRAWN); do $(BIN)/python examples/$$example.py > /dev/null || exit 1; done
	cp build/demo/*.svg docs/images/examples

check: .venv/ready
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: .venv/ready
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

.venv/ready: requirements.txt pyproject.toml tools/setup.sh tools/install.sh
	@PYTHON=$(PYTHON) bash tools/setup.sh

# Only the tests of the live page need a browser.
.venv/chromium: .venv/ready tools/chromium.sh
	@bash tools/chromium.sh
	@touch $@

# Only the tests of the lookup service, and its benchmark, need Redis.
.venv/redis: .venv/ready tools/redis.sh
	@bash tools/redis.sh
	@touch $@

.venv-spark%/ready: .venv/ready tools/setup_spark.sh
	@bash tools/setup_spark.sh $*

$(ENGINES:%=.venv-%/ready): .venv-%/ready: .venv/ready tools/requirements-%.txt tools/setup_engine.sh
	@bash tools/setup_engine.sh $*

.venv-dist/ready: tools/requirements-dist.txt tools/setup_dist.sh
	@PYTHON=$(PYTHON) bash tools/setup_dist.sh

clean:
	rm -rf .venv .venv-dist .venv-spark* $(ENGINES:%=.venv-%) .mypy_cache .ruff_cache .hypothesis .coverage build dist
