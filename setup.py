"""Builds the compiled kernel: every `.pyx` file under src/ becomes one extension module. Wheels hold byte code as well.

Everything else about the package is declared in pyproject.toml. The kernel is required at run time
(docs/adr/0001-compiled-kernel.md), so a failed build stops with a sentence that says what to install.
"""

from __future__ import annotations

import compileall
import os
import py_compile
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

NO_COMPILER = """
Tidelog's kernel could not be compiled: {error}

It needs a C compiler and Python's headers. Install them and try again:
    Debian/Ubuntu   apt-get install gcc python3-dev
    Fedora          dnf install gcc python3-devel
    macOS           xcode-select --install
A wheel (pip install tidelog) needs neither.
"""


class BuildModules(build_py):
    """Puts byte code beside the modules of a wheel: who unpacks it where nothing can be written starts as fast.

    It is not compared with the source's time, which a wheel does not keep; an installer that compiles replaces it.
    """

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
            compileall.compile_dir(self.build_lib, quiet=1, stripdir=self.build_lib, invalidation_mode=unchecked)


class BuildKernel(build_ext):
    def run(self) -> None:
        try:
            super().run()
        except Exception as error:
            sys.stderr.write(NO_COMPILER.format(error=error))
            raise


def extensions() -> list[Extension]:
    from Cython.Build import cythonize

    flags = ["-O3", "-g0", "-fno-strict-aliasing", "-Wno-unused-function", "-Wno-unreachable-code"]
    modules = []
    depends = sorted(str(header) for header in Path("src").rglob("_*.h"))
    for path in sorted(Path("src").rglob("*.pyx")):
        name = ".".join(path.with_suffix("").parts[1:])
        modules.append(Extension(name, [str(path)], extra_compile_args=flags, include_dirs=["src"], depends=depends))
    directives = {
        "language_level": 3,
        "boundscheck": False,
        "wraparound": False,
        "cdivision": True,
        "initializedcheck": False,
    }
    threads = int(os.environ.get("TIDELOG_BUILD_JOBS", os.cpu_count() or 1))
    return cythonize(
        modules, compiler_directives=directives, include_path=["src"], nthreads=threads if len(modules) > 1 else 0
    )


setup(ext_modules=extensions(), cmdclass={"build_ext": BuildKernel, "build_py": BuildModules})
