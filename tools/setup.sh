#!/usr/bin/env bash
# Makes .venv with the pinned dependencies and sees to Java 17, on a machine that may have neither.
set -euo pipefail
cd "$(dirname "$0")/.."

. tools/install.sh

java_is_new_enough() {
    local java="${JAVA_HOME:+$JAVA_HOME/bin/}java" version
    version=$("$java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p') || return 1
    [ -n "$version" ] && [ "$version" -ge 17 ]
}

python_is_new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

python=${PYTHON:-python3}
for candidate in "$python" python3.13 python3.12 python3.11; do
    if python_is_new_enough "$candidate"; then python=$candidate; break; fi
done
python_is_new_enough "$python" || stop "Python 3.11 or newer is needed; name one with: make PYTHON=/path/to/python"

if [ -n "${JAVA_HOME:-}" ] && ! java_is_new_enough; then
    stop "JAVA_HOME is $JAVA_HOME, where there is no Java 17 or newer: correct it or unset it, then run make again"
fi
if ! java_is_new_enough; then
    say "Spark needs Java 17 or newer and none was found: installing it"
    install openjdk-17-jre-headless java-17-openjdk-headless openjdk17-jre-headless openjdk@17 || true
    java_is_new_enough || stop "Java could not be installed: install a Java 17 runtime (Debian: apt-get install" \
        "openjdk-17-jre-headless), then run make again"
fi

if [ ! -x .venv/bin/python ] || ! python_is_new_enough .venv/bin/python; then
    say "making .venv with $("$python" --version)"
    rm -rf .venv
    if ! "$python" -m venv .venv 2>/dev/null; then
        install python3-venv python3 python3 python3 || true
        "$python" -m venv .venv || stop "$python can't make a virtual environment: install python3-venv, then run make again"
    fi
fi

say "installing the pinned dependencies"
pip() { .venv/bin/python -m pip install --quiet --disable-pip-version-check "$@" >>"$log" 2>&1 || { tail -n 20 "$log" >&2; exit 1; }; }
pip --requirement requirements.txt
pip --no-deps --no-build-isolation --editable .
touch .venv/ready
