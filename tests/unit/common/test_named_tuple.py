"""Our NamedTuple beside typing's: the same class bodies, the same behaviour."""

from __future__ import annotations

import copy
import inspect
import pickle
import typing

import pytest

from tidelog.common import named_tuple


class Ours(named_tuple.NamedTuple):
    """A point."""

    x: int
    y: int = 2
    label: str | None = None

    @property
    def total(self) -> int:
        return self.x + self.y


class Theirs(typing.NamedTuple):
    """A point."""

    x: int
    y: int = 2
    label: str | None = None

    @property
    def total(self) -> int:
        return self.x + self.y


class Heir(Ours):
    """A class of its own with the same fields."""

    def doubled(self) -> int:
        return 2 * self.total


BOTH = pytest.mark.parametrize("cls", [Ours, Theirs])


@BOTH
def test_values_by_place_by_name_and_by_default(cls):
    one = cls(1, label="a")
    assert (one.x, one.y, one.label, one.total) == (1, 2, "a", 3)
    assert one == (1, 2, "a") == cls(x=1, y=2, label="a")
    assert hash(one) == hash((1, 2, "a"))
    x, *rest = one
    assert (x, rest, one[1:], len(one)) == (1, [2, "a"], (2, "a"), 3)
    assert repr(one) == f"{cls.__name__}(x=1, y=2, label='a')"


@BOTH
def test_what_the_class_says_of_itself(cls):
    assert cls._fields == cls.__match_args__ == ("x", "y", "label")
    assert cls._field_defaults == {"y": 2, "label": None}
    assert cls.__doc__ == "A point."
    cls(1)
    assert list(inspect.signature(cls).parameters) == ["x", "y", "label"]


@BOTH
def test_make_replace_asdict_copies_and_patterns(cls):
    one = cls._make([1, 2, None])
    assert one._replace(y=5) == (1, 5, None)
    assert type(one._replace(y=5)) is cls
    assert one._asdict() == {"x": 1, "y": 2, "label": None}
    assert copy.copy(one) == copy.deepcopy(one) == one
    match one:
        case cls(x, 2, label=None):
            assert x == 1
        case _:
            pytest.fail("the pattern should hold")


@BOTH
@pytest.mark.parametrize(
    "wrong",
    [
        lambda cls: cls(),
        lambda cls: cls(1, 2, None, 4),
        lambda cls: cls(1, z=3),
        lambda cls: cls(1, x=1),
        lambda cls: cls._make([1]),
        lambda cls: setattr(cls(1), "x", 3),
        lambda cls: setattr(cls(1), "other", 3),
    ],
)
def test_mistakes_are_refused(cls, wrong):
    with pytest.raises((TypeError, AttributeError)):
        wrong(cls)


@BOTH
def test_a_replacement_of_an_unknown_field_is_refused(cls):
    with pytest.raises((ValueError, TypeError)):
        cls(1)._replace(z=3)


def test_an_heir_is_an_ordinary_class():
    heir = Heir(1, 4)
    assert (heir.doubled(), heir.total, type(heir._replace(x=0))) == (10, 5, Heir)
    assert type(Ours(1)) is Ours
    assert type(Ours) is type


def test_pickles_travel():
    for one in (Ours(1), Heir(2), Ours(3, label="x")):
        back = pickle.loads(pickle.dumps(one))
        assert back == one
        assert type(back) is type(one)


def test_bodies_that_make_no_tuple():
    with pytest.raises(TypeError, match="needs a default"):

        class Gap(named_tuple.NamedTuple):
            a: int = 1
            b: int

    with pytest.raises(ValueError, match="name of a field"):

        class Hidden(named_tuple.NamedTuple):
            _a: int

    with pytest.raises(TypeError, match="other base"):

        class Bad(named_tuple.NamedTuple, dict):
            a: int


def test_no_fields_at_all():
    class Empty(named_tuple.NamedTuple):
        """Nothing."""

    assert Empty() == ()
    assert repr(Empty()) == "Empty()"
