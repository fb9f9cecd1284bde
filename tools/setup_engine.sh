#!/usr/bin/env bash
# Makes an environment with another streaming engine, which benchmarks/engines runs beside Sash: its pins differ from those of .venv.
# tools/setup_engine.sh flink makes .venv-flink; pathway and bytewax are the others. Run tools/setup.sh first.
set -euo pipefail
cd "$(dirname "$0")/.."

name=$1
folder=.venv-$name
requirements=tools/requirements-$name.txt
[ -f "$requirements" ] || { printf 'set-up: no engine %s: there is no %s\n' "$name" "$requirements" >&2; exit 1; }

# None of the engines has wheels for Python 3.13.
suits() { "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 13))' 2>/dev/null; }
for python in .venv/bin/python python3.12 python3.11 ""; do suits "$python" && break; done
[ -n "$python" ] || { printf 'set-up: %s needs Python 3.11 or 3.12\n' "$name" >&2; exit 1; }

printf 'set-up: making %s\n' "$folder" >&2
rm -rf "$folder"
"$python" -m venv "$folder"
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$requirements"
touch "$folder/ready"
