"""Write all pages about speed: `python -m benchmarks.pages`."""

from benchmarks.pages import details, front, readme, sizing
from benchmarks.results import COMPILED, SIZING, read

if __name__ == "__main__":
    front.write()
    details.write()
    readme.write(read(COMPILED))
    if measured := read(SIZING):
        sizing.write(measured)
