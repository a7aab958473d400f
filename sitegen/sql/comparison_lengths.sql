-- Answered requests of the declared load of each timed launch, by their length in tokens: bins of an eighth of an octave,
-- so that a launch of any size is a few dozen rows. Open loop: latency runs from when a request was due. Seconds.
WITH loops AS (
    SELECT q.run_id, count(*) = count(q.scheduled_ns) AS is_open
    FROM requests AS q
    JOIN runs AS r USING (run_id)
    WHERE r.benchmark = ? AND r.role = 'timed' AND q.phase = 'measured'
    GROUP BY q.run_id
),
asked AS (
    SELECT
        q.run_id, q.input_tokens, q.output_tokens,
        CASE WHEN l.is_open THEN q.scheduled_ns ELSE q.sent_ns END / 1e9 AS start,
        (q.ended_ns / 1e9) - start AS e2e,
        (q.first_token_ns / 1e9) - start AS ttft,
        CASE WHEN q.output_tokens > 1
             THEN (q.ended_ns - q.first_token_ns) / 1e9 / (q.output_tokens - 1) END AS tpot
    FROM requests AS q
    JOIN loops AS l USING (run_id)
    WHERE q.phase = 'measured' AND q.error IS NULL
),
lengths AS (
    SELECT run_id, 'input' AS side, input_tokens AS tokens, e2e, ttft, tpot FROM asked
    UNION ALL
    SELECT run_id, 'output', output_tokens, e2e, ttft, tpot FROM asked
)
SELECT
    run_id,
    side,
    CAST(floor(8 * log2(tokens)) AS INTEGER) AS bin,
    count(*) AS requests,
    sum(tokens) AS tokens,
    min(tokens) AS shortest,
    max(tokens) AS longest,
    count(e2e) AS "e2e.count", sum(e2e) AS "e2e.sum",
    count(ttft) AS "ttft.count", sum(ttft) AS "ttft.sum",
    count(tpot) AS "tpot.count", sum(tpot) AS "tpot.sum"
FROM lengths
WHERE tokens > 0
GROUP BY run_id, side, bin
ORDER BY run_id, side, bin
