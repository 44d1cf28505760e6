"""`NamedTuple`, as `typing` has it, for a tenth of the time that it takes to make such a class.

The broker makes some fifty of these classes while it starts. typing's way (every annotation and the constructor
compiled from text, for each class) takes a tenth of the whole start; here annotations stay text, and a class gets its
constructor when its first instance is made. From then on both are the same: a tuple with names, immutable, equal to any
tuple of the same values. Type checkers see typing's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import NamedTuple
else:
    from _collections import _tuplegetter as getter
    from keyword import iskeyword

    class _Named(tuple):
        """What every named tuple can do."""

        __slots__ = ()
        _fields: tuple[str, ...] = ()
        _field_defaults: dict[str, Any] = {}

        def __new__(cls, *values: Any, **named: Any) -> Any:
            """The first instance of a class: compile its constructor, then leave the work to it."""
            owner = next(base for base in cls.__mro__ if "_fields" in base.__dict__)
            owner.__new__ = staticmethod(_constructor(owner))
            return owner.__new__(cls, *values, **named)

        @classmethod
        def _make(cls, values: Any) -> Any:
            made = tuple.__new__(cls, values)
            if len(made) != len(cls._fields):
                raise TypeError(f"{cls.__name__} has {len(cls._fields)} values, not {len(made)}")
            return made

        def _replace(self, /, **changes: Any) -> Any:
            """A copy with some values changed; `map` with `pop` takes the changed ones and falls back to the present
            ones.
            """
            made = self._make(map(changes.pop, self._fields, self))
            if changes:
                raise ValueError(f"{type(self).__name__} has no {', '.join(changes)}")
            return made

        def _asdict(self) -> dict[str, Any]:
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self) -> str:
            shown = ", ".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
            return f"{type(self).__name__}({shown})"

        def __getnewargs__(self) -> tuple[Any, ...]:
            return tuple(self)

    def _constructor(owner: type) -> Any:
        """A function with the fields as parameters, as typing makes one: calling it costs what a call of a plain
        function costs, and a wrong or missing name is an error like any other.
        """
        names = ", ".join(owner._fields)
        made = eval(  # of identifiers only; there is no other way to a constructor with names that is fast to call
            f"lambda _cls, {names}: _new(_cls, ({names},))" if names else "lambda _cls: _new(_cls, ())",
            {"_new": tuple.__new__, "__name__": owner.__module__},
        )
        made.__defaults__ = tuple(owner._field_defaults.values())
        made.__name__ = "__new__"
        made.__qualname__ = f"{owner.__qualname__}.__new__"
        made.__doc__ = f"A {owner.__name__} of {names}."
        return made

    class _Maker(type):
        """Turns a class body with annotations into a named tuple: a plain class, whose own heirs are ordinary."""

        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
            if len(bases) != 1:
                raise TypeError(f"{name}: a NamedTuple has no other base")
            fields = tuple(body.get("__annotations__", ()))
            defaults: dict[str, Any] = {}
            for index, field in enumerate(fields):
                if field.startswith("_") or iskeyword(field):
                    raise ValueError(f"{name}: {field} cannot be the name of a field")
                if field in body:
                    defaults[field] = body[field]
                elif defaults:
                    raise TypeError(f"{name}: {field} needs a default, as the fields before it have one")
                body[field] = getter(index, None)
            body |= {"_fields": fields, "_field_defaults": defaults, "__match_args__": fields, "__slots__": ()}
            return type(name, (_Named,), body)

    NamedTuple = type.__new__(_Maker, "NamedTuple", (), {})

__all__ = ["NamedTuple"]
