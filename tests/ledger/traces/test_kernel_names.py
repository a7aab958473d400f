"""Names of the same kernel in two traces fold to the same name, whatever device and build they come from."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.traces.classes import table
from ledger.traces.kernel_names import folded
from ledger.traces.mangled_names import readable

ADD = (
    "void at::native::{}<{}at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul> >"
    "(int, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>)"
)
WRAPPED = (
    "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::BinaryFunctor<float, "
    "float, float, at::native::binary_internal::MulFunctor<float> > >(at::TensorIteratorBase&, at::native::"
    "BinaryFunctor<float, float, float> const&)::{lambda(int)#1}>(int, at::native::gpu_kernel_impl_nocast)"
)
GELU = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, "
    "at::native::GeluType)::{lambda()#2}::operator()() const::{lambda()#4}::operator()() const::{lambda(float)#1}>(int)"
)
TENSILE = "Cijk_Alik_Bljk_B_BS_BH_Bias_HA_S_SAV_UserArgs_MT16x16x128_MI16x16x1_SN_LDSB0_AFC1_AFEM1"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (ADD.format("vectorized_elementwise_kernel", "4, "), "elementwise_kernel: CUDAFunctor_add"),
        (ADD.format("elementwise_kernel_manual_unroll", "128, 8, "), "elementwise_kernel: CUDAFunctor_add"),
        (WRAPPED, "elementwise_kernel: MulFunctor"),
        (GELU, "elementwise_kernel: GeluCUDAKernelImpl"),
        ("triton_poi_fused_add_12", "triton_poi_fused_add"),
        ("triton_red_fused__to_copy_mean_mul_3", "triton_red_fused__to_copy_mean_mul"),
        (TENSILE, "Cijk_Alik_Bljk_B_BS_BH_Bias_HA_S_SAV"),
        ("nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NTT", "nvjet_hsh_NTT"),
        ("ampere_sgemm_128x64_nn", "sgemm_nn"),
        ("volta_sgemm_32x32_sliced1x4_nn", "sgemm_nn"),
        (
            "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas",
            "xmma_gemm_bf16bf16_bf16f32_f32_tn_n_cublas",
        ),
        (
            "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64_64x6_tn_align8>(P)",
            "cutlass_tensorop_bf16_gemm_relu_bf16_tn",
        ),
        ("void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<Mainloop<2>>>>(P)",
         "cutlass::device_kernel: flash::FlashAttnFwd"),
        ("void (anonymous namespace)::softmax_warp_forward<float, 8>(float*, int)", "softmax_warp_forward"),
        ("std::enable_if<!(false), void>::type internal::gemvx::kernel<int, float>(P)", "internal::gemvx::kernel"),
        ("_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256EEEvPT0_", "aiter::add_rmsnorm_quant_kernel"),
        ("_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_4PipeEEEJEEEvDpT1_.kd", "ck_tile::kentry: Rmsnorm2dFwd"),
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)", "ncclDevKernel_AllReduce_Sum_f32_RING_LL"),
        ("Memcpy HtoD (Pageable -> Device)", "Memcpy HtoD (Pageable -> Device)"),
        ("jit_kernel_7f3a9c01d2e4_0x7fe0", "jit_kernel"),
        ("## Call CompiledFxGraph fuvbwc4jzcdxbrijjag4 ##", "## Call CompiledFxGraph"),
        ("aten::add_", "aten::add_"),
        ("autograd::engine::evaluate_function: MmBackward0", "autograd::engine::evaluate_function: MmBackward0"),
        ("operator<", "operator<"),
        ("<lambda>", "<lambda>"),
        ("kernel<unclosed<8", "kernel"),
        ("", ""),
    ],
)  # fmt: skip
def test_what_differs_between_builds_is_gone_and_what_tells_stays(name, expected):
    assert folded(name).rstrip("_") == expected.rstrip("_")


@pytest.mark.parametrize("name", [ADD.format("elementwise_kernel", ""), TENSILE, "triton_red_fused_mean_3", GELU])
def test_folding_leaves_the_class(name):
    assert table().class_of(folded(name)) == table().class_of(name)


def test_different_functors_are_not_folded_together():
    assert folded(GELU) != folded(WRAPPED) != folded(ADD.format("elementwise_kernel", ""))


WORDS = st.sampled_from(
    ["void ", "at::native::", "elementwise_kernel", "<", ">", "(", ")", "{", "}", ",", " ", "float", "4", "_128x64",
     "ReduceOp", "operator()", "operator<", "0x1f", "_Z", "N", "5aiter", "3foo", "I", "E", "L", "triton_poi_fused_add",
     "_12", "Cijk_A_MT16", "sm90_", "graph_1_", "::", "deadbeef00", "cutlass::Kernel2", "F", "X", "S_", "#1"]
)  # fmt: skip
NAMES = st.one_of(st.text(max_size=40), st.lists(WORDS, max_size=14).map("".join))


@given(NAMES)
def test_folding_twice_changes_nothing_and_leaves_no_name_empty(name):
    once = folded(name)
    assert folded(once) == once
    assert bool(once) == bool(name.split())


@given(st.lists(st.from_regex(r"[a-z][a-z_]{0,8}", fullmatch=True), min_size=1, max_size=5))
def test_the_words_of_a_mangled_name_are_read_by_their_lengths(words):
    mangled = "_ZN" + "".join(f"{len(word)}{word}" for word in words) + "ILi4EEEvPf"
    assert readable(mangled) == "::".join(words)


def test_a_name_without_end_is_folded_all_the_same():
    assert folded("reduce_kernel<" + "ReduceOp<" * 5000).startswith("reduce_kernel")
    assert folded("_ZN" + "9999999999x" * 50)
