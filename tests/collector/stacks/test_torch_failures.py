import pytest

from collector.stacks.interface import Ending
from collector.stacks.registry import ADAPTERS
from ledger.run import Reason


def ending(*log):
    return Ending(1, None, timed_out=False, cancelled=False, log_tail=log)


@pytest.mark.parametrize(
    "log",
    [
        "RuntimeError: [enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory",
        "RuntimeError: DefaultCPUAllocator: not enough memory: you tried to allocate 5 bytes.",
        "terminate called after throwing an instance of 'std::bad_alloc'",
        "MemoryError",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB",
        "OSError: [Errno 12] Cannot allocate memory",
    ],
)
def test_what_torch_says_when_memory_is_out(log):
    assert (
        ADAPTERS["torch"].failure_reason(ending("Traceback (most recent call last):", log, "")) is Reason.OUT_OF_MEMORY
    )


def test_a_missing_library_is_the_environments_fault():
    assert ADAPTERS["torch"].failure_reason(ending("ModuleNotFoundError: No module named 'torch'")) is (
        Reason.ENVIRONMENT_FAILED
    )


@pytest.mark.parametrize("log", ["", "step 3 loss 2.0", "ZeroDivisionError: division by zero", "memory 512 MB"])
def test_other_lines_give_no_reason(log):
    assert ADAPTERS["torch"].failure_reason(ending(log)) is None
