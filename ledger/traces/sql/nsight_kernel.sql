-- Kernels of one rank.
SELECT start, "end", deviceId, streamId, correlationId,
    coalesce(demangledName, shortName, mangledName),
    NULL,
    CASE WHEN gridX BETWEEN 1 AND 2147483647 AND gridY BETWEEN 1 AND 65535 AND gridZ BETWEEN 1 AND 65535
        THEN gridX * gridY * gridZ * 1.0 / :multiprocessors END
FROM CUPTI_ACTIVITY_KIND_KERNEL
WHERE deviceId = :device AND (globalPid IS NULL OR (globalPid >> 24) & 16777215 IS :process)
