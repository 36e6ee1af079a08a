from typing import Any, Callable, Optional

__version__: str

class Error(Exception):
    """What every error of this package is."""

class InputError(Error):
    """An argument, a scenario, a study or a file is wrong."""

class MachineError(Error):
    """The machine lacks memory, space or a permission."""

class Table:
    """A table. `polars.DataFrame(table)`, `pyarrow.table(table)`, `pandas.DataFrame.from_arrow(table)` and everything
    else that knows the Arrow PyCapsule interface take its numbers without a copy."""

    @property
    def column_names(self) -> list[str]: ...
    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...

_Report = Optional[Callable[[float], object]]
_Cells = tuple[Table, list[tuple[str, str]], int, str]

def run(arguments: dict[str, Any], report: _Report) -> tuple[str, list[str], list[Table]]: ...
def rerun(
    directory: str, any_version: bool, threads: Optional[int], report: _Report
) -> list[tuple[str, str, str]]: ...
def scenarios() -> list[tuple[str, str]]: ...
def sweep(arguments: dict[str, Any], report: _Report) -> _Cells: ...
def collect(directory: str, any_version: bool) -> _Cells: ...
def evaluate(question: dict[str, Any], mend: tuple[int, int, int, int]) -> dict[str, Any]: ...
def tune(
    question: dict[str, Any], timeout: Optional[float], quantile: Optional[tuple[float, str]]
) -> dict[str, Any]: ...
