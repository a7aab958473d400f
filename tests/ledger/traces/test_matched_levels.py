"""What `stackproof trace --against` says of how the two sides were matched, and of what one side alone has."""

from tests.ledger.traces.builder import annotation, launched, op, write
from tests.ledger.traces.test_trace_command import device, ran


def test_the_level_at_which_sides_match_and_what_does_not_are_said(tmp_path):
    before, after = write(tmp_path / "a.json", device()), write(tmp_path / "b.json", device(30, "Cijk_A_MT16"))
    text = ran(after, "--against", before)
    assert "matched by kernels, the finest level at which the sides have anything in common" in text
    assert "not matched: 1 kernel of before alone, 0.020 ms a step\n  sgemm_nn\n" in text
    assert "not matched: 1 kernel of after alone, 0.050 ms a step\n  Cijk_A\n" in text
    assert "not matched" not in ran(before, "--against", before)
    other = [annotation("ProfilerStep#1", 0, 200), op("aten::bmm", 5, 10)]
    other += launched("kernel", "Cijk_A_MT16", 6, 20, 50, 1)
    text = ran(write(tmp_path / "c.json", other), "--against", before)
    assert "matched by classes, the finest level" in text
    assert "not matched: 3 operators of before alone" in text
    assert "not matched: 1 operator of after alone, 0.050 ms a step\n  aten::bmm\n" in text
