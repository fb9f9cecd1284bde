"""The Java that Spark runs on."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

OLDEST = 17
REMEDY = "install one (Debian: apt-get install openjdk-17-jre-headless), or set JAVA_HOME to where one is"


def check_java() -> None:
    """Raise a `RuntimeError` that says what to do if Java is missing or too old: Spark itself would print half a page."""
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else "java"  # noqa: PTH118 — as Spark's own script does it
    where = f"in JAVA_HOME, {home}," if home else "on the PATH"
    path = shutil.which(java)
    said = subprocess.run([path, "-version"], capture_output=True, text=True, check=False).stderr if path else ""  # noqa: S603
    version = version_of(said)
    if version is None:
        message = f"Spark needs Java {OLDEST} or newer and there is none {where}: {REMEDY}."
        raise RuntimeError(message)
    if version < OLDEST:
        message = f"Spark needs Java {OLDEST} or newer and the one {where} is Java {version}: {REMEDY}."
        raise RuntimeError(message)


def version_of(said: str) -> int | None:
    """Return the version that `java -version` tells; none if it tells none.

    >>> version_of('openjdk version "17.0.2" 2022-01-18'), version_of('java version "1.8.0_402"'), version_of("")
    (17, 8, None)
    """
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    return int(found[1]) if found else None
