"""The pattern table: names of each vendor and engine, and what they are."""

import pytest

from ledger.traces.classes import CLASSES, Role, table

KNOWN = {
    "gemm": [
        "ampere_sgemm_128x128_tn",
        "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_16x6_nn_align4>(Params)",
        "nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NNT",
        "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT16x32x512",
        "void cublasLt::splitKreduce_kernel<32, 16, int, float>",
        "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_cublas",
        "triton_tem_fused_mm_3",
        "aten::addmm",
        "autograd::engine::evaluate_function: MmBackward0",
        "mkldnn::_linear_pointwise",
        "volta_scudnn_128x64_relu_interior_nn_v1",
    ],
    "attention": [
        "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4>>",
        "attn_fwd",
        "void vllm::paged_attention_v2_kernel<float>",
        "paged_attention_ll4mi_QKV_mfma16_kernel<0>",
        "aten::_scaled_dot_product_flash_attention_for_cpu_backward",
        "void vllm::reshape_and_cache_flash_kernel<float>",
        "fmha_cutlassF_f32_aligned_64x64_rf_sm80",
    ],
    "norm": [
        "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>",
        "void vllm::rms_norm_kernel<c10::BFloat16>",
        "triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_0",
        "cpp_fused_native_layer_norm_2",
        "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float>",
    ],
    "moe": ["fused_moe_kernel", "void vllm::moe::topkGatingSoftmax<4>", "_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1"],
    "optimizer": [
        "void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float>, float>",
        "aten::_fused_adamw_",
    ],
    "quantization": ["void vllm::dynamic_scaled_fp8_quant_kernel<float>", "aten::quantize_per_tensor"],
    "embedding": ["aten::embedding_dense_backward", "split_embedding_codegen_forward_unweighted_kernel<float>"],
    "reduction": [
        "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>",
        "aten::_log_softmax_backward_data",
        "triton_per_fused_sum_4",
        "cpp_fused__log_softmax_3",
    ],
    "elementwise": [
        "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>",
        "triton_poi_fused_add_mul_1",
        "graph_0_cpp_fused_add_mul_silu_5",
        "aten::copy_",
        "aten::to",
        "aten::zero_",
        "aten::fill_",
        "CompiledFunctionBackward",
    ],
    "other": ["a_kernel_that_nobody_knows", "mylib::frobnicate"],
}


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, names in KNOWN.items() for name in names])
def test_known_names_have_their_class(kind, name):
    assert table().class_of(name) == kind


@pytest.mark.parametrize(
    "name",
    [
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)",
        "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)",
        "_Z13rcclDevKernelv",
        "gloo:all_reduce",
        "nccl:all_to_all",
        "c10d::allreduce_",
        "_c10d_functional::wait_tensor",
        "void vllm::cross_device_reduce_2stage<float, 4>",
    ],
)
def test_collectives_are_communication(name):
    assert table().role(name) is Role.COMMUNICATION


@pytest.mark.parametrize("name", ["aten::mm", "ampere_sgemm_128x128_tn", "## forward ##", "aten::copy_", "waiter::mm"])
def test_plain_work_has_no_role(name):
    assert table().role(name) is None


def test_views_take_the_class_of_their_caller():
    assert table().class_of("aten::t") is None


def test_every_rule_names_a_class():
    assert {kind for kind, _ in table().rules} == set(CLASSES) - {"other"}
