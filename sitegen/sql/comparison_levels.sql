-- What each timed launch did at each level of load that it was driven at; warm-up is left out. Times are seconds.
-- Open loop: latency runs from when a request was due. A metric of the same name is defined in ledger/metrics.
WITH loops AS (
    SELECT q.run_id, q.level, count(*) = count(q.scheduled_ns) AS is_open
    FROM requests AS q
    JOIN runs AS r USING (run_id)
    WHERE r.benchmark = ? AND r.role = 'timed' AND q.phase IN ('measured', 'sweep')
        AND q.level > 0 AND isfinite(q.level)
    GROUP BY ALL
),
asked AS (
    SELECT
        q.run_id, q.level, l.is_open, coalesce(q.item, '#' || q.request) AS item, q.error IS NULL AS answered,
        CAST(q.accepted AS DOUBLE) AS accepted,
        CASE WHEN l.is_open THEN q.scheduled_ns ELSE q.sent_ns END / 1e9 AS start,
        q.ended_ns / 1e9 AS ended,
        q.input_tokens, q.cached_tokens, q.output_tokens,
        CASE WHEN q.error IS NULL THEN (q.first_token_ns / 1e9) - start END AS ttft,
        CASE WHEN q.error IS NULL THEN (q.ended_ns / 1e9) - start END AS e2e,
        CASE WHEN q.error IS NULL AND q.output_tokens > 1
             THEN (q.ended_ns - q.first_token_ns) / 1e9 / (q.output_tokens - 1) END AS tpot,
        CASE WHEN q.error IS NULL THEN q.queue_ns / 1e9 END AS queue_time
    FROM requests AS q
    JOIN loops AS l USING (run_id, level)
    WHERE q.phase IN ('measured', 'sweep')
),
items AS (
    SELECT run_id, level, avg(accepted) AS acceptance_rate
    FROM (SELECT run_id, level, item, avg(accepted) AS accepted FROM asked WHERE accepted IS NOT NULL GROUP BY ALL)
    GROUP BY ALL
),
driven AS (
    SELECT
        run_id,
        level,
        count(*) AS requests,
        count(*) FILTER (WHERE answered) AS answered,
        sum(accepted) AS accepted,
        coalesce(max(ended) - min(start), 0) AS span,
        CASE WHEN any_value(is_open) AND count(*) > 1 THEN max(start) - min(start) END AS offered_span,
        min(ended - start) AS quickest,
        sum(input_tokens) AS input_tokens,
        sum(cached_tokens) AS cached_tokens,
        sum(output_tokens) AS output_tokens,
        sum(output_tokens) FILTER (WHERE answered) AS answered_tokens,
        bool_and(input_tokens IS NOT NULL) FILTER (WHERE answered) AS input_known,
        bool_and(cached_tokens IS NOT NULL) FILTER (WHERE answered) AS cached_known,
        bool_and(output_tokens IS NOT NULL) FILTER (WHERE answered) AS output_known,
        count(ttft) AS "ttft.count", avg(ttft) AS "ttft.mean",
        quantile_cont(ttft, 0.5) AS "ttft.p50",
        quantile_cont(ttft, 0.95) AS "ttft.p95",
        quantile_cont(ttft, 0.99) AS "ttft.p99",
        count(e2e) AS "e2e.count", avg(e2e) AS "e2e.mean",
        quantile_cont(e2e, 0.5) AS "e2e.p50",
        quantile_cont(e2e, 0.95) AS "e2e.p95",
        quantile_cont(e2e, 0.99) AS "e2e.p99",
        count(tpot) AS "tpot.count", avg(tpot) AS "tpot.mean",
        quantile_cont(tpot, 0.5) AS "tpot.p50",
        quantile_cont(tpot, 0.95) AS "tpot.p95",
        quantile_cont(tpot, 0.99) AS "tpot.p99",
        count(queue_time) AS "queue_time.count", avg(queue_time) AS "queue_time.mean",
        quantile_cont(queue_time, 0.5) AS "queue_time.p50",
        quantile_cont(queue_time, 0.95) AS "queue_time.p95",
        quantile_cont(queue_time, 0.99) AS "queue_time.p99"
    FROM asked
    GROUP BY ALL
),
devices AS (
    SELECT run_id, greatest(1, json_array_length(CAST(value AS JSON))) AS devices
    FROM environments
    WHERE field = 'hardware.devices'
),
paid AS (
    SELECT
        d.run_id,
        d.level,
        p.amount * CASE p.per
            WHEN 'request' THEN d.requests
            WHEN 'node_hour' THEN d.span / 3600
            WHEN 'device_hour' THEN d.span / 3600 * coalesce(v.devices, 1)
            WHEN 'million_cached_tokens' THEN CASE WHEN d.cached_known THEN d.cached_tokens / 1e6 END
            WHEN 'million_output_tokens' THEN CASE WHEN d.output_known THEN d.output_tokens / 1e6 END
            WHEN 'million_input_tokens' THEN CASE
                WHEN NOT d.input_known THEN NULL
                WHEN NOT bool_or(p.per = 'million_cached_tokens') OVER (PARTITION BY d.run_id, d.level)
                    THEN d.input_tokens / 1e6
                WHEN d.cached_known THEN (d.input_tokens - d.cached_tokens) / 1e6
            END
        END AS money
    FROM driven AS d
    JOIN prices AS p USING (run_id)
    LEFT JOIN devices AS v USING (run_id)
),
costs AS (
    SELECT run_id, level, CASE WHEN count(*) = count(money) THEN sum(money) END AS money FROM paid GROUP BY ALL
)
SELECT
    d.* EXCLUDE (offered_span, quickest, input_known, cached_known, input_tokens, cached_tokens, output_tokens,
        answered_tokens, output_known),
    CASE WHEN d.output_known THEN d.answered_tokens END AS output_tokens,
    CASE
        WHEN d.offered_span > 0 AND d.span > d.quickest THEN least(1.0, d.offered_span / (d.span - d.quickest))
        WHEN d.offered_span > 0 THEN 1.0
    END AS achieved,
    i.acceptance_rate,
    c.money
FROM driven AS d
LEFT JOIN items AS i USING (run_id, level)
LEFT JOIN costs AS c USING (run_id, level)
ORDER BY d.run_id, d.level
