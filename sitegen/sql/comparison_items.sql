-- What came of each item (prompt or task) of each timed launch, attempts together; warm-up and sweep are left out.
SELECT
    q.run_id,
    q.item,
    avg(CAST(q.accepted AS DOUBLE)) AS accepted,
    count(*) FILTER (WHERE q.error IS NULL) AS answered,
    count(*) AS requests,
    avg(q.input_tokens) AS input_tokens
FROM requests AS q
JOIN runs AS r USING (run_id)
WHERE r.benchmark = ? AND r.role = 'timed' AND q.phase = 'measured'
GROUP BY q.run_id, q.item
ORDER BY q.run_id, q.item
