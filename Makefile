# What a contributor runs; each line is what ./install.sh --test has set up.
python = .venv/bin/python

.PHONY: test quick lint format docs bench demo

test:            ## everything, as the continuous integration runs it
	./install.sh --test

quick:           ## the tests that start no agent and install nothing
	$(python) -m pytest -q -m "not slow"

lint:
	$(python) -m ruff check .
	$(python) -m ruff format --check .
	$(python) -m mypy

format:
	$(python) -m ruff format .
	$(python) -m ruff check --fix .

docs:            ## what the documents tell of the code; docs/demo.svg from a real run
	$(python) docs/generate.py
	$(python) docs/picture.py

bench:           ## docs/performance.md quotes these
	$(python) benchmarks/startup.py

demo:
	$(python) -m pmem demo
