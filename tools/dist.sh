#!/usr/bin/env bash
# Builds the wheel and the source archive into dist/, checks them, and installs them into empty environments: with each extra that a
# user may ask for, on each supported Python that this machine has. Each environment imports Sash, runs a query and the command line.
# SASH_EXTRAS="cli spark" and SASH_PYTHONS="3.11" choose some of them.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'dist: %s\n' "$*" >&2; }

# python_of 3.12: its path, from PATH or from pyenv; nothing if there is none
python_of() {
    local found
    for found in "$(command -v "python$1" || true)" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$1".*/bin/python; do
        if [ -x "$found" ] && "$found" -c "import sys; sys.exit('%d.%d' % sys.version_info[:2] != '$1')" 2>/dev/null; then
            echo "$found"
            return
        fi
    done
}

# try_install PYTHON WHAT EXTRA: install into an empty environment, and use it from an empty folder
try_install() {
    local folder
    folder=$(mktemp -d)
    "$1" -m venv "$folder/venv"
    "$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check "$2${3:+[$3]}"
    (cd "$folder" && PATH="$folder/venv/bin:$PATH" "$folder/venv/bin/python" - "$3") < tools/try_release.py
    rm -rf "$folder"
}

rm -rf dist
.venv-dist/bin/hatchling build -d dist
.venv-dist/bin/twine check --strict dist/*
wheel=$(ls "$PWD"/dist/*.whl)
archive=$(ls "$PWD"/dist/*.tar.gz)

missing=()
for version in ${SASH_PYTHONS:-3.11 3.12 3.13}; do
    python=$(python_of "$version")
    if [ -z "$python" ]; then
        missing+=("$version")
        continue
    fi
    for extra in none ${SASH_EXTRAS:-sql cli live spark demo bench}; do
        say "Python $version, $([ "$extra" = none ] && echo 'no extra' || echo "extra $extra")"
        try_install "$python" "$wheel" "${extra#none}"
    done
    say "Python $version, from the source archive"
    try_install "$python" "$archive" ""
done
if [ ${#missing[@]} -gt 0 ]; then
    say "not tried, because this machine has no Python ${missing[*]}"
fi
ls -l dist
