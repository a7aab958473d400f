-- NVTX ranges, but those of other ranks: pushed and popped (59, 70), started and ended (60, 71). Older exports write 0
-- or -1 where a range has no end.
SELECT start, CASE WHEN "end" NOT IN (0, -1) THEN "end" END, (globalTid >> 24) & 16777215 AS process,
    globalTid & 16777215, NULL, coalesce(text, textId), NULL, NULL
FROM NVTX_EVENTS
WHERE (eventType IS NULL OR eventType IN (59, 60, 70, 71))
    AND (globalTid IS NULL OR process NOT IN (SELECT value FROM json_each(:others)))
