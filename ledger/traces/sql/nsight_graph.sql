-- CUDA graphs that were recorded whole: their kernels have no rows of their own.
SELECT start, "end", deviceId, streamId, correlationId, 'CUDA graph', NULL, NULL
FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE
WHERE deviceId = :device AND (globalPid IS NULL OR (globalPid >> 24) & 16777215 IS :process)
