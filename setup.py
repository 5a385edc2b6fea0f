"""Compiles the hot modules that pyproject.toml lists ([tool.pyrepl.kernels]) where there is a C compiler.

All else about the package stands in setup.cfg. All modules are compiled or none: without a compiler or Python's
headers, when compiling fails, or with PYREPL_PURE=1 in the environment, the package is installed as it is written.
`pyrepl/kernels.py` tells which form runs, and by the record made here whether it is that of the sources beside it.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
import tomllib
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from setuptools import Distribution, Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
RECORD = "pyrepl/kernels.json"
BUILDS = {"build", "build_ext", "bdist_wheel", "editable_wheel", "install", "develop"}
BY_MYPYC = {"mypyc": "pyrepl.kernels", "mailbox": "pyrepl.mailbox.kernels"}
"""List -> the library that mypyc makes of it, for its modules to call each other directly."""
OPTIMISE = ["-O2", "-fno-semantic-interposition"]
ANYWHERE = [f"-ffile-prefix-map={folder}=." for folder in (ROOT, sys.prefix)]
"""The folders that the package is built in are not in the result, so that the same sources give the same bytes."""


def kernels(tool: str) -> list[str]:
    """The modules that `tool` compiles, as paths from the repository's root."""
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pyrepl"]["kernels"]
    return [f"{name.replace('.', '/')}.py" for name in listed[tool]]


def sources() -> list[Path]:
    """Every file that a compiled form is made of."""
    modules = [ROOT / path for tool in (*BY_MYPYC, "cython") for path in kernels(tool)]
    return [*modules, *sorted(ROOT.glob("pyrepl/**/*.pxd"))]


class CompileKernels(build_ext):
    """Compiles, and writes beside the result what it was made of; on failure the package stays as it is written."""

    def finalize_options(self) -> None:
        """As many at once as there are processors; the one library of mypyc takes as long as all others together."""
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count()

    def run(self) -> None:
        """All or none, and nothing left of a list that was longer once."""
        remove_compiled(Path(self.build_lib))
        try:
            super().run()
        except Exception as error:
            warn(f"compiling failed ({error})")
            self.extensions.clear()
            remove_compiled(Path(self.build_lib))
            remove_compiled(ROOT)
            return
        here = self.inplace or getattr(self, "editable_mode", False)
        record = (ROOT if here else Path(self.build_lib)) / RECORD
        record.parent.mkdir(parents=True, exist_ok=True)
        digests = {
            str(path.relative_to(ROOT / "pyrepl")): hashlib.sha256(path.read_bytes()).hexdigest() for path in sources()
        }
        record.write_text(json.dumps(digests, indent=1))

    def build_extension(self, ext: Extension) -> None:
        """One of them, and which of how many."""
        self.compiled = getattr(self, "compiled", 0) + 1
        tell(f"compiling {self.compiled} of {len(self.extensions)}: {ext.name}")
        super().build_extension(ext)


def extensions() -> list[Extension]:
    """What to compile, translated to C; nothing where that cannot be done."""
    if os.environ.get("PYREPL_PURE", "0") not in ("", "0"):
        return []
    reason = why_not_compile()
    if reason is not None:
        warn(reason)
        return []
    try:
        made = [*(extension for tool in BY_MYPYC for extension in by_mypyc(tool)), *by_cython()]
    except (Exception, SystemExit) as error:
        warn(f"translating to C failed ({type(error).__name__}: {error})")
        return []
    for extension in made:
        # Not added to in place: mypyc gives all of a library's extensions one list.
        extension.extra_compile_args = [*extension.extra_compile_args, *ANYWHERE]
    return made


def by_mypyc(tool: str) -> list[Extension]:
    """A list of BY_MYPYC: its library, and for each module what loads that."""
    paths = kernels(tool)
    if not paths:
        return []
    from mypyc.build import mypycify

    tell(f"translating {len(paths)} modules to C by mypyc")

    found: list[Extension] = mypycify(
        # What the others import need not be installed where the package is built.
        ["--no-warn-unused-ignores", "--follow-imports=silent", "--cache-dir=build/.mypyc_cache", *paths],
        opt_level="2",
        debug_level="0",
        group_name=BY_MYPYC[tool],
    )
    return found


def by_cython() -> list[Extension]:
    """Each a library of its own."""
    paths = kernels("cython")
    if not paths:
        return []
    from Cython.Build import cythonize

    tell(f"translating {len(paths)} modules to C by Cython")

    made = [Extension(path[:-3].replace("/", "."), [path], extra_compile_args=OPTIMISE) for path in paths]
    found: list[Extension] = cythonize(made, build_dir="build", language_level=3, quiet=True)
    return found


def why_not_compile() -> str | None:
    """What speaks against it, or None: this Python, or what is missing for it."""
    layout = load_layout()
    reason: str | None = layout.why_not_compiled_for(layout.running())
    return reason or why_no_compiler()


def load_layout() -> ModuleType:
    """The module by itself: the package would refuse to be loaded beside what another Python has compiled."""
    spec = spec_from_file_location("layout", ROOT / "pyrepl" / "layout.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def why_no_compiler() -> str | None:
    """What is missing, or None: found out by compiling nothing at all against Python's headers."""
    with tempfile.TemporaryDirectory() as folder:
        probe = Path(folder) / "probe.c"
        probe.write_text("#include <Python.h>\nPyMODINIT_FUNC PyInit_probe(void) { return NULL; }\n")
        command = build_ext(Distribution({"ext_modules": [Extension("probe", [str(probe)])]}))
        command.build_temp = command.build_lib = folder
        command.finalize_options()
        with open(os.devnull, "w") as devnull:
            err = os.dup(2)
            os.dup2(devnull.fileno(), 2)
            try:
                command.run()
            except Exception:
                return "there is no C compiler, or Python's headers are missing (gcc and python3-dev on Debian)"
            finally:
                os.dup2(err, 2)
                os.close(err)
    return None


def remove_compiled(root: Path) -> None:
    """Leave no compiled form below `root`: next to changed sources it would go on being used."""
    for pattern in ("pyrepl/**/*.so", "pyrepl/**/*.pyd", RECORD):
        for path in root.glob(pattern):
            path.unlink()


def tell(step: str) -> None:
    """Say what is done next, for setup_shown.py: in one piece, as two may be compiled at once."""
    sys.stdout.write(f"pyrepl builds: {step}\n")
    sys.stdout.flush()


def warn(reason: str) -> None:
    """Say why the result is slower than it could be."""
    sys.stderr.write(f"pyrepl: {reason}; installing the pure Python form, which does the same more slowly\n")


building = not BUILDS.isdisjoint(sys.argv)
if building:
    os.chdir(ROOT)
    remove_compiled(ROOT)
setup(
    ext_modules=extensions() if building else [],
    cmdclass={"build_ext": CompileKernels},
    # `make dist` writes them; an installation from a checkout goes without.
    data_files=[("share/man/man1", sorted(str(page.relative_to(ROOT)) for page in ROOT.glob("man/*.1")))],
)
