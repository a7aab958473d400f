-- How many NVTX rows are no ranges: marks, names of threads, domains and categories. Those of other ranks are not counted.
SELECT count(*)
FROM NVTX_EVENTS
WHERE eventType NOT IN (59, 60, 70, 71)
    AND (globalTid IS NULL OR (globalTid >> 24) & 16777215 NOT IN (SELECT value FROM json_each(:others)))
