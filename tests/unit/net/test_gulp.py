"""What a connection learns about how to receive large answers."""

from __future__ import annotations

import pytest

from tidelog.net.gulp import TRIALS, Gulp


@pytest.mark.parametrize("faster", [True, False])
def test_both_ways_are_tried_and_the_faster_one_is_kept(faster: bool) -> None:
    gulp = Gulp()
    tried = []
    for _ in range(TRIALS):
        way = gulp.pays
        tried.append(way)
        gulp.note(way, 1000, 1.0 if way == faster else 1.3)
    assert tried.count(True) == tried.count(False)
    gulp.note(not faster, 1000, 1.2)
    assert gulp.pays is faster


@pytest.mark.parametrize("faster", [True, False])
def test_a_large_difference_is_believed_at_once(faster: bool) -> None:
    gulp = Gulp()
    for _ in range(2):
        gulp.note(gulp.pays, 1000, 1.0 if gulp.pays == faster else 2.0)
    assert [gulp.pays for _ in range(3)] == [faster] * 3
    gulp.note(faster, 1000, 1.0)
    assert gulp.pays is faster
