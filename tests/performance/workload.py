"""What the generated training runs: a transformer's operators, the kernels that they launch, and when.

The device's clock is laid out piece by piece, and every piece adds to the totals as it is placed: what a trace has to
say is known before it is written. Each operator's host work ends before its kernel starts, so that the host is only
ever seen where the device waits for it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

TOKENS, WIDTH, INNER, HEADS, HEAD = 8192, 4096, 16384, 32, 128
ELEMENTS = 67_108_864
"""What one all-reduce carries."""
ATTENTION = [1, HEADS, TOKENS, HEAD]
HOST, ENDS, LAUNCH = 3000, 500, 1500
"""Nanoseconds before a kernel at which its operator begins and ends and its launch begins."""
COMMUNICATION_AFTER = 2600
"""Nanoseconds from the start of the kernel that covers a collective to the collective's own."""


Chain = tuple[tuple[str, tuple[list[int], ...]], ...]
"""Names of operators with the shapes of their inputs."""


@dataclass(frozen=True)
class Op:
    """One operator with what it calls, and the piece of device work that it launches."""

    chain: Chain
    """Nested host operators, the outermost first, each with the shapes of its inputs."""
    kind: str
    """The class of its time, `copy`, or `wait` for host work without a kernel."""
    device: str = ""
    """The kernel's name."""
    lasts: tuple[int, int] = (5_000, 20_000)
    """Bounds of its nanoseconds; more than HOST, so that the next operator begins while it runs."""
    flops: int = 0
    grid: tuple[int, int, int] = (1024, 1, 1)
    block: tuple[int, int, int] = (128, 1, 1)
    memory: int = 0
    """Bytes allocated; negative: freed; 0: no event."""
    backward: bool = False
    """Runs on the autograd thread."""
    queries: int = 1
    """Runtime calls beside the launch."""
    frame: str = ""
    """The Python module that called it."""


class Piece(NamedTuple):
    """One operator at its place in time."""

    op: Op
    start: int
    """Nanoseconds, on the device; of host work without a kernel, on the host."""
    duration: int
    external: int
    """The first of its external ids, one for each operator of its chain."""
    correlation: int
    """The first of its correlation ids: one for each runtime call, the last for the launch."""


@dataclass
class Totals:
    """What the trace of one step has to say; nanoseconds."""

    number: int
    parts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(
            ("compute", "exposed_communication", "exposed_copy", "input_wait", "host_gap", "idle"), 0
        )
    )
    classes: dict[str, int] = field(default_factory=dict)
    communication: int = 0
    launches: int = 0
    flops: int = 0
    collectives: int = 0
    annotated: tuple[int, int] = (0, 0)


class Step(NamedTuple):
    """One step of the plan."""

    pieces: list[Piece]
    optimizer: tuple[int, int]
    """Start and end of its annotation."""
    totals: Totals


def _elementwise(functor: str, count: int) -> str:
    array = f"std::array<char*, {count}ul>"
    return (
        f"void at::native::vectorized_elementwise_kernel<8, at::native::{functor}, {array} >"
        f"(int, at::native::{functor}, {array})"
    )


_NORM = (
    "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float, false>(int, float, "
    "c10::BFloat16 const*, c10::BFloat16 const*, c10::BFloat16 const*, float*, float*, c10::BFloat16*)"
)
_NORM_BACKWARD = (
    "void at::native::(anonymous namespace)::layer_norm_grad_input_kernel_vectorized<c10::BFloat16, float, false>"
    "(c10::BFloat16 const*, c10::BFloat16 const*, float const*, float const*, c10::BFloat16 const*, "
    "c10::BFloat16*, int)"
)
_FLASH = (
    "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, cutlass::bfloat16_t, "
    "Flash_kernel_traits<128, 128, 64, 4, cutlass::bfloat16_t> >, false, true, false, false, true, true, false, false>"
    "(pytorch_flash::Flash_fwd_params)"
)
_FLASH_BACKWARD = (
    "void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<128, 64, 128, 8, 2, 4, "
    "2, false, false, cutlass::bfloat16_t>, false, true, false, false, true, true, false>"
    "(pytorch_flash::Flash_bwd_params)"
)
_ADAM = (
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::"
    "FusedOptimizerTensorListMetadata<4>, at::native::(anonymous namespace)::FusedAdamMathFunctor<float, 4, "
    "(at::native::ADAM_MODE)1, false>, float const*, double, double, double, double, double, bool, float*, float*, "
    "(at::native::ADAM_MODE)1>(at::native::(anonymous namespace)::FusedOptimizerTensorListMetadata<4>)"
)
_SUM = (
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::func_wrapper_t<float, "
    "at::native::sum_functor<float, float, float>::operator()(at::TensorIterator&)::{lambda(float, float)#1}>, "
    "unsigned int, float, 4, 4> >(at::native::ReduceOp<float, at::native::func_wrapper_t<float, at::native::sum_functor"
    "<float, float, float>::operator()(at::TensorIterator&)::{lambda(float, float)#1}>, unsigned int, float, 4, 4>)"
)


def _linear(inner: int, columns: int, kernel: str) -> Op:
    weight = [columns, inner]
    return Op(
        (
            ("aten::linear", ([TOKENS, inner], weight, [columns])),
            ("aten::t", (weight,)),
            ("aten::addmm", ([columns], [TOKENS, inner], [inner, columns], [], [])),
        ),
        "gemm",
        kernel,
        (20_000, 90_000),
        2 * TOKENS * inner * columns,
        (132, 1, 1),
        (384, 1, 1),
        memory=2 * TOKENS * columns,
        queries=2,
        frame=f"nn.Module: Linear_{columns}",
    )


def _back(name: str, inner: Chain, forward: Op, device: str, flops: int = 0) -> Op:
    """The other half of a forward operator: the same class, the same time, its memory freed."""
    chain: Chain = ((f"autograd::engine::evaluate_function: {name}", ()), (name, ([TOKENS, WIDTH], [])), *inner)
    return Op(
        chain, forward.kind, device, forward.lasts, flops, forward.grid, forward.block,
        -forward.memory, backward=True, queries=2,
    )  # fmt: skip


_ROWS = [TOKENS, WIDTH]
NORM = Op(
    (
        ("aten::layer_norm", (_ROWS, [], [WIDTH], [WIDTH], [], [])),
        ("aten::native_layer_norm", (_ROWS, [], [WIDTH], [WIDTH], [])),
        ("aten::empty", ([], [], [], [], [], [])),
    ),
    "norm", _NORM, (6_000, 12_000), memory=2 * TOKENS * WIDTH, frame="nn.Module: LayerNorm_0",
)  # fmt: skip
QKV = _linear(WIDTH, 3 * WIDTH, "nvjet_tst_256x128_64x4_2x1_v_bz_coopA_bias_TNT")
FLASH = Op(
    (
        ("aten::scaled_dot_product_attention", (ATTENTION, ATTENTION, ATTENTION, [], [], [], [], [])),
        ("aten::_scaled_dot_product_flash_attention", (ATTENTION, ATTENTION, ATTENTION, [], [], [], [])),
        ("aten::_flash_attention_forward", (ATTENTION, ATTENTION, ATTENTION, [], [], [], [], [], [], [])),
        ("aten::empty", ([], [], [], [], [], [])),
    ),
    "attention", _FLASH, (60_000, 90_000), 4 * HEADS * TOKENS * TOKENS * HEAD, (64, 32, 1),
    memory=2 * TOKENS * WIDTH, frame="nn.Module: Attention_0",
)  # fmt: skip
OUT = _linear(WIDTH, WIDTH, "nvjet_tst_128x256_64x4_1x2_h_bz_coopA_bias_TNN")
ADD = Op((("aten::add", (_ROWS, _ROWS, [])),), "elementwise", _elementwise("CUDAFunctor_add<c10::BFloat16>", 3))
UP = _linear(WIDTH, INNER, "nvjet_tst_256x128_64x4_2x1_v_bz_coopB_bias_TNT")
GELU = Op(
    (("aten::gelu", ([TOKENS, INNER], [])),), "elementwise",
    _elementwise("GeluCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::"
                 "{lambda()#2}::operator()() const::{lambda()#4}", 2),
    memory=2 * TOKENS * INNER, frame="nn.Module: GELU_0",
)  # fmt: skip
DOWN = _linear(INNER, WIDTH, "nvjet_tst_128x256_64x4_1x2_h_bz_coopB_bias_TNN")
FORWARD = (NORM, QKV, FLASH, OUT, ADD, NORM, UP, GELU, DOWN, ADD)


def _linear_back(forward: Op, inner: int, columns: int, kernel: str) -> Op:
    products = (
        ("aten::t", ([TOKENS, columns],)),
        ("aten::mm", ([columns, TOKENS], [TOKENS, inner])),
    )
    return _back("AddmmBackward0", products, forward, kernel, flops=2 * TOKENS * inner * columns)


_FLASH_CALL = (ATTENTION,) * 5
FLASH_BACK = _back(
    "ScaledDotProductFlashAttentionBackward0",
    (
        ("aten::_scaled_dot_product_flash_attention_backward", (*_FLASH_CALL, [HEADS, TOKENS], [], [], [], [])),
        ("aten::_flash_attention_backward", (*_FLASH_CALL, [HEADS, TOKENS], [], [], [], [])),
    ),
    FLASH, _FLASH_BACKWARD, flops=10 * HEADS * TOKENS * TOKENS * HEAD,
)  # fmt: skip
NORM_BACK = _back("NativeLayerNormBackward0", (("aten::native_layer_norm_backward", (_ROWS, _ROWS, [])),), NORM,
                  _NORM_BACKWARD)  # fmt: skip
GELU_BACK = _back("GeluBackward0", (("aten::gelu_backward", ([TOKENS, INNER], [TOKENS, INNER], [])),), GELU,
                  _elementwise("GeluBackwardCUDAKernelImpl(at::TensorIteratorBase&)::{lambda()#1}", 3))  # fmt: skip
BACKWARD = (
    _linear_back(DOWN, INNER, WIDTH, "nvjet_tst_128x256_64x4_1x2_h_bz_coopA_NNT"),
    GELU_BACK,
    _linear_back(UP, WIDTH, INNER, "nvjet_tst_256x128_64x4_2x1_v_bz_coopA_NNT"),
    NORM_BACK,
    _linear_back(OUT, WIDTH, WIDTH, "nvjet_tst_128x256_64x4_1x2_h_bz_coopB_NNT"),
    FLASH_BACK,
    _linear_back(QKV, WIDTH, 3 * WIDTH, "nvjet_tst_256x128_64x4_2x1_v_bz_coopB_NNT"),
    NORM_BACK,
)
COVERING = (0, 2, 4)
"""Places in BACKWARD whose kernels have a collective beside them."""


COLLECTIVE = Op(
    (
        ("c10d::allreduce_", ([ELEMENTS], [], [], [], [], [])),
        ("record_param_comms", ([ELEMENTS], [], [], [], [], [], [])),
        ("nccl:all_reduce", ([ELEMENTS],)),
    ),
    "communication",
    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    grid=(24, 1, 1),
    block=(544, 1, 1),
    backward=True,
    queries=3,
)
INPUT = Op((("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", ()),), "wait", queries=0)
SUM = Op((("aten::sum", (_ROWS, [])),), "reduction", _SUM, memory=512)
SYNC = Op((("aten::item", ([],)), ("aten::_local_scalar_dense", ([],))), "wait")
UPLOAD = Op(
    (("aten::to", ([1, TOKENS], [], [], [], [])), ("aten::_to_copy", ([1, TOKENS], [], [], [], [])),
     ("aten::copy_", ([1, TOKENS], [1, TOKENS], []))),
    "copy", "Memcpy HtoD (Pinned -> Device)", (4_000, 9_000),
)  # fmt: skip
CLEAR = Op((("aten::zero_", ([WIDTH],)),), "copy", "Memset (Device)", (4_000, 6_000))
ADAM = Op(
    (("aten::_fused_adamw_", ([],) * 8),), "optimizer", _ADAM, (30_000, 60_000), grid=(320, 1, 1)
)  # fmt: skip
OPTIMIZER = (ADAM,) * 12


class Plan:
    """The pieces of one rank, step by step; asked again it is the same."""

    def __init__(self, seed: int, rank: int, layers: list[int], start: int) -> None:
        """`layers`: how many each step has."""
        self._seed, self._rank, self._layers, self._start = seed, rank, layers, start

    def __iter__(self) -> Iterator[Step]:
        """A `Step` each."""
        step = _Placing(self._start, self._start)
        for number, layers in enumerate(self._layers):
            step = _Placing(step.edge, step.done, step.external, step.correlation)
            yield step.placed(number, layers, random.Random(f"{self._seed}/{self._rank}/{number}"))  # noqa: S311


class _Placing:
    """One step as it is laid out."""

    def __init__(self, edge: int, done: int, external: int = 1, correlation: int = 1) -> None:
        """`edge`: where its annotation starts; `done`: when the device is done with the step before."""
        self.edge, self.done, self.external, self.correlation = edge, done, external, correlation
        self._pieces: list[Piece] = []

    def placed(self, number: int, layers: int, dice: random.Random) -> Step:
        """All of it."""
        self._dice, self._totals = dice, Totals(number)
        begins = self.edge
        self._wait(INPUT, "input_wait")
        for op in (UPLOAD, CLEAR, *FORWARD * layers, SUM):
            self._launch(op)
        for _ in range(layers):
            for place, op in enumerate(BACKWARD):
                self._launch(op, covers=place in COVERING)
        self._wait(SYNC, "host_gap")
        self._launch(SUM)
        stepping = self._pieces[-1].start - 400
        for op in OPTIMIZER:
            self._launch(op)
        last = self._pieces[-1]
        self.edge = last.start + 1000
        self._totals.annotated = (begins, self.edge - 10)
        return Step(self._pieces, (stepping, last.start - 100), self._totals)

    def _wait(self, op: Op, part: str) -> None:
        """The host works or waits, and the device has nothing to do until the next launch."""
        length = self._dice.randint(20_000, 60_000)
        self._piece(op, self.done + 100, length)
        self._totals.parts[part] += length
        self._totals.parts["idle"] += 200
        self.done += 200 + length

    def _launch(self, op: Op, covers: bool = False) -> None:
        """An operator and its kernel, after a gap; `covers`: with a collective beside it."""
        parts = self._totals.parts
        waited = self._pieces[-1].op.kind == "wait"
        gap = HOST if waited else self._dice.randint(200, 900)
        seen = max(0, gap - ENDS)
        parts["host_gap"] += seen
        parts["idle"] += gap - seen
        start, length = self.done + gap, self._dice.randint(*op.lasts)
        self._piece(op, start, length)
        self._totals.launches += 1
        self._totals.flops += op.flops
        self.done = start + length
        if op.kind == "copy":
            parts["exposed_copy"] += length
            return
        parts["compute"] += length
        self._totals.classes[op.kind] = self._totals.classes.get(op.kind, 0) + length
        if covers:
            self._communicate(start)

    def _communicate(self, start: int) -> None:
        """A collective that begins within the kernel that started then and ends within it, or after it."""
        hidden = self._dice.random() < 0.6
        beyond = -self._dice.randint(1_000, 4_000) if hidden else self._dice.randint(1_000, 20_000)
        begins = start + COMMUNICATION_AFTER
        length = self.done + beyond - begins
        self._piece(COLLECTIVE, begins, length)
        self._totals.launches += 1
        self._totals.collectives += 1
        self._totals.communication += length
        self._totals.parts["exposed_communication"] += max(0, beyond)
        self.done += max(0, beyond)

    def _piece(self, op: Op, start: int, length: int) -> None:
        self._pieces.append(Piece(op, start, length, self.external, self.correlation))
        self.external += len(op.chain)
        self.correlation += op.queries + 1
