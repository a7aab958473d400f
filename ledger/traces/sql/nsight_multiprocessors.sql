-- Multiprocessors of the device that a process calls by this number.
SELECT coalesce(
    (SELECT numMultiprocessors FROM TARGET_INFO_CUDA_DEVICE
     WHERE cudaId = :device AND (pid = :process OR pid IS NULL OR :process IS NULL) AND numMultiprocessors > 0),
    (SELECT smCount FROM TARGET_INFO_CUDA_DEVICE JOIN TARGET_INFO_GPU ON TARGET_INFO_GPU.id = gpuId
     WHERE cudaId = :device AND (pid = :process OR pid IS NULL OR :process IS NULL) AND smCount > 0),
    (SELECT smCount FROM TARGET_INFO_GPU WHERE coalesce(cuDevice, id) = :device AND smCount > 0)
)
