#!/usr/bin/env bash
# Makes an environment with the packages of .venv and another version of PySpark.
# tools/setup_spark.sh 4.1.4 makes .venv-spark4.1.4. Run tools/setup.sh first.
set -euo pipefail
cd "$(dirname "$0")/.."

version=$1
folder=.venv-spark$version
packages() { "$1/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))'; }

printf 'set-up: making %s\n' "$folder" >&2
rm -rf "$folder"
.venv/bin/python -m venv --without-pip "$folder"
.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --target "$(packages "$folder")" \
    "pyspark==$version"
# Later on the path than its own packages, so that its own PySpark wins.
echo "import site; site.addsitedir('$(packages .venv)')" > "$(packages "$folder")/shared.pth"
touch "$folder/ready"
