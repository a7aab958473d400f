-- Fills of one rank, named as the PyTorch profiler names them. The numbers are those of ENUM_CUDA_MEM_KIND.
WITH memory(id, word) AS (
    VALUES (0, 'Pageable'), (1, 'Pinned'), (2, 'Device'), (3, 'Array'), (4, 'Managed'), (5, 'Device Static'),
        (6, 'Managed Static'), (7, 'Unknown')
)
SELECT start, "end", deviceId, streamId, correlationId, 'Memset (' || coalesce(word, 'Unknown') || ')', bytes, NULL
FROM CUPTI_ACTIVITY_KIND_MEMSET
LEFT JOIN memory ON memory.id = memKind
WHERE deviceId = :device AND (globalPid IS NULL OR (globalPid >> 24) & 16777215 IS :process)
