-- Runtime and driver calls, but those of other ranks. Correlation ids are unique within a process only.
SELECT start, "end", (globalTid >> 24) & 16777215 AS process, globalTid & 16777215,
    CASE WHEN :process IS NULL OR globalTid IS NULL OR (globalTid >> 24) & 16777215 = :process THEN correlationId END,
    nameId, NULL, NULL
FROM CUPTI_ACTIVITY_KIND_RUNTIME
WHERE globalTid IS NULL OR process NOT IN (SELECT value FROM json_each(:others))
