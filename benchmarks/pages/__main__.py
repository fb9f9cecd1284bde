"""Write all pages about speed: `python -m benchmarks.pages`."""

from benchmarks.pages import details, front, readme
from benchmarks.results import COMPILED, read

if __name__ == "__main__":
    front.write()
    details.write()
    readme.write(read(COMPILED))
