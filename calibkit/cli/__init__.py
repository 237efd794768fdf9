"""The command line.

Exit status: 0 done, also when nothing could be certified; 1 done, and the answer is no (--require-certified, gates not
met); 2 the input or the call is wrong, with one line on standard error.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Annotated, Any, NoReturn

import typer

from calibkit.cli import calibrating, fitting, grading, judging, labelling, tools  # noqa: F401  each adds its commands
from calibkit.cli.options import app, err_console, out_console
from calibkit.pairs import InputError
from calibkit.policy import TOOL

# An unknown option, a missing argument, a bad value: typer exports this kind of error by one of its children only.
_USAGE_ERROR: type[Any] = typer.BadParameter.__mro__[1]


def _show_version(wanted: bool) -> None:
    if wanted:
        out_console.print(TOOL)
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    del version  # its callback has shown it


def main() -> NoReturn:
    """Run the command line; whatever a user can mend is told in one line, with exit status 2."""
    signal.signal(signal.SIGTERM, _leave)  # so that half-written files are cleared away
    command = typer.main.get_command(app)
    try:
        status = command.main(sys.argv[1:] or ["--help"], prog_name="calibkit", standalone_mode=False)
    except InputError as error:
        status = _refuse(str(error))
    except _USAGE_ERROR as error:
        status = _refuse(f"{error.format_message().rstrip('.')}; see calibkit {_subcommand()}--help")
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # whoever read us has gone: leave quietly
        status = 0
    except (KeyboardInterrupt, typer.Abort):
        status = 130
    except OSError as error:
        status = _refuse(f"{error.filename or 'the output'}: {error.strerror}; mend that and try again")
    sys.exit(status if isinstance(status, int) else 0)


def _leave(_signal: int, _frame: object) -> NoReturn:
    sys.exit(128 + signal.SIGTERM)


def _subcommand() -> str:
    names = {command.name for command in app.registered_commands}
    return f"{sys.argv[1]} " if len(sys.argv) > 1 and sys.argv[1] in names else ""


def _refuse(message: str) -> int:
    err_console.print(f"calibkit: {' '.join(message.split())}", markup=False)
    return 2
