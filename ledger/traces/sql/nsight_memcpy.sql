-- Copies of one rank, named as the PyTorch profiler names them. The numbers are those of ENUM_CUDA_MEMCPY_OPER and
-- ENUM_CUDA_MEM_KIND.
WITH
direction(id, word) AS (
    VALUES (1, 'HtoD'), (2, 'DtoH'), (3, 'HtoA'), (4, 'AtoH'), (5, 'AtoA'), (6, 'AtoD'), (7, 'DtoA'), (8, 'DtoD'),
        (9, 'HtoH'), (10, 'PtoP'), (11, 'Unified HtoD'), (12, 'Unified DtoH'), (13, 'Unified DtoD')
),
memory(id, word) AS (
    VALUES (0, 'Pageable'), (1, 'Pinned'), (2, 'Device'), (3, 'Array'), (4, 'Managed'), (5, 'Device Static'),
        (6, 'Managed Static'), (7, 'Unknown')
)
SELECT start, "end", deviceId, streamId, correlationId,
    'Memcpy ' || coalesce(direction.word, 'of an unknown direction')
        || coalesce(' (' || origin.word || ' -> ' || target.word || ')', ''),
    bytes,
    NULL
FROM CUPTI_ACTIVITY_KIND_MEMCPY
LEFT JOIN direction ON direction.id = copyKind
LEFT JOIN memory AS origin ON origin.id = srcKind
LEFT JOIN memory AS target ON target.id = dstKind
WHERE deviceId = :device AND (globalPid IS NULL OR (globalPid >> 24) & 16777215 IS :process)
