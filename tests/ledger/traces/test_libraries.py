"""Which library ran, by names: of made traces with one library, with several and with none, and of real ones."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from ledger.traces.cache import cached
from ledger.traces.libraries import declared_by, libraries, seen
from tests.ledger.traces.builder import annotation, event, launched, op, training, write

KERNELS = {
    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)": {"nccl", "rccl"},
    "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)": {"nccl", "rccl"},
    "void mscclpp::allreduce7<__half>(__half*, __half*)": {"mscclpp"},
    "void cross_device_reduce_1stage<float, 2>(RankData*)": {"custom_all_reduce"},
    "triton_poi_fused_add_mul_1": {"inductor", "triton"},
    "triton_tem_fused_mm_3": {"inductor", "triton"},
    "void flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<64, 64, 256, 4>>(Flash_fwd_params)": {"flash_attention"},
    "void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<float>": {"flash_attention", "fused_attention"},
    "void flashinfer::BatchDecodeWithPagedKVCacheKernel<8>": {"flashinfer"},
    "void vllm::paged_attention_v2_kernel<float>": {"paged_attention"},
    "fmha_cutlassF_f32_aligned_64x64_rf_sm80": {"fused_attention"},
    "ampere_sgemm_128x128_tn": {"cublas"},
    "sm90_xmma_gemm_f32f32_tn_n_tilesize128x128x64_cublas": {"cublas"},
    "nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NNT": {"cublas"},
    "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_16x6_nn_align4>(Params)": {"cutlass"},
    "sm80_xmma_wgrad_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nhwc": {"cudnn"},
    "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float>": {"cudnn"},
    "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<c10::BFloat16>>": {"bfloat16"},
    "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>": set(),
    "a_kernel_that_nobody_knows": set(),
}
OPERATORS = {
    "gloo:all_reduce": {"gloo"},
    "nccl:all_to_all": {"nccl", "rccl"},
    "graph_0_cpp_fused_add_mul_silu_5": {"inductor"},
    "## Call CompiledFxGraph fej7dr4d ##": {"inductor"},
    "aten::_scaled_dot_product_flash_attention_for_cpu_backward": {"fused_attention"},
    "aten::_scaled_dot_product_efficient_attention": {"fused_attention"},
    "aten::_softmax": {"math_attention"},
    "aten::_log_softmax": set(),
    "mkldnn::_linear_pointwise": {"onednn"},
    "_C::onednn_mm": {"onednn"},
    "DistributedDataParallel.forward": {"ddp"},
    "FSDP::all_gather (blocks.1)": {"fsdp"},
    "LinearFunctionForZeroStage3": {"deepspeed"},
    "Optimizer.step#DeepSpeedCPUAdam.step": {"deepspeed"},
    "Optimizer.step#AdamW.step": set(),
    "Torch-Compiled Region: 0/0": set(),
    "aten::scaled_dot_product_attention": set(),
    "c10d::allreduce_": set(),
}


def ids(path: Path, events: list[Any]) -> set[str]:
    trace = write(path / "rank-0.json.gz", events)
    return {each.library for each in seen(cached(trace, path / "cache").files("events"))}


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_by_name(tmp_path: Path, name: str) -> None:
    assert ids(tmp_path, launched("kernel", name, 1, 2, 3, 1)) == KERNELS[name]


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_and_annotations_by_name(tmp_path: Path, name: str) -> None:
    assert ids(tmp_path, [op(name, 1, 2)]) == OPERATORS[name]
    assert ids(tmp_path, [annotation(name, 1, 3)]) == OPERATORS[name]


def test_a_python_frame_is_no_work_of_a_library(tmp_path: Path) -> None:
    assert ids(tmp_path, [event("python_function", "gloo:all_reduce", 1, 2)]) == set()
    assert ids(tmp_path, training()) == set()


def test_several_libraries_are_counted_each_with_what_most_of_it_is(tmp_path: Path) -> None:
    events = [
        *launched("kernel", "mscclpp_allreduce", 1, 2, 3, 1),
        *launched("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 5, 6, 10, 2),
        *launched("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 20, 21, 10, 3),
        *launched("kernel", "ncclDevKernel_AllGather_RING_LL(x)", 40, 41, 5, 4),
    ]
    trace = write(tmp_path / "rank-0.json.gz", events)
    found = {each.library: each for each in seen(cached(trace, tmp_path / "cache").files("events"))}
    assert set(found) == {"nccl", "rccl", "mscclpp"}
    assert (found["nccl"].events, found["nccl"].duration_ns) == (3, 25_000)
    assert found["nccl"].example == "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)"


@pytest.mark.parametrize(
    ("adapter", "settings", "declared"),
    [
        ("torch", {"compile": "true", "attention": "sdpa"}, ("inductor",)),
        ("torch", {"compile": "false", "attention": "sdpa"}, ()),
        ("torch", {"compile": "false", "attention": "math"}, ("math_attention",)),
        ("torch", {"compile": "true", "attention": "math"}, ("inductor",)),
        ("command", {"compile": "true"}, ()),
        ("torch", {"device": "cpu", "data_parallel": "2", "data_parallel_mode": "ddp"}, ("ddp", "gloo")),
        ("torch", {"device": "cpu", "data_parallel": "1", "tensor_parallel": "2"}, ("gloo",)),
        ("torch", {"device": "cuda", "data_parallel": "4", "tensor_parallel": "2"}, ("nccl",)),
        ("torch", {"device": "cuda", "data_parallel": "null"}, ()),
        ("deepspeed", {"device": "cpu", "data_parallel": "2", "zero_stage": "3"}, ("gloo", "deepspeed")),
        ("deepspeed", {"device": "cpu", "data_parallel": "2", "zero_stage": "1"}, ("gloo",)),
        (None, {}, ()),
    ],
)
def test_what_settings_declare(adapter: str | None, settings: dict[str, str], declared: tuple[str, ...]) -> None:
    assert declared_by(adapter, settings) == declared


def test_each_library_says_where_its_names_come_from_and_can_be_seen() -> None:
    for library in libraries().values():
        assert library.source
        assert library.kernels or library.operators
        assert library.names_of is None or library.names_of in libraries()
    assert all(library.title for library in libraries().values())


SHARED = Path(os.environ.get("STACKPROOF_SHARED", Path(__file__).parents[4] / "shared")) / "data/traces"
REAL = {
    "nvidia-a100-training/nccl_data.json.gz": {"nccl", "ddp", "cudnn"},
    "h100-vs-mi300/h100-bert-small.json.gz": {"flash_attention", "fused_attention", "bfloat16"},
    "resnet50-dataloader/resnet50_num_workers_0_worker0.1623143089861.pt.trace.json.gz": {"cudnn", "cublas"},
    "serving/vllm_decode_graph_execution.json.gz": {"inductor", "paged_attention", "cuda_graphs"},
}
ABSENT = {"mscclpp", "gloo", "flashinfer", "fsdp", "deepspeed", "math_attention"}


@pytest.mark.skipif(not SHARED.is_dir(), reason="the real traces are not here")
@pytest.mark.parametrize("name", REAL)
def test_real_traces(tmp_path: Path, name: str) -> None:
    found = {each.library for each in seen(cached(SHARED / name, tmp_path).files("events"))}
    assert found >= REAL[name]
    assert not found & ABSENT
