-- title: Latency and throughput of each server's timed launches, mean over launches
-- A percentile is NULL where a launch had too few requests for it.
SELECT
    runs.benchmark,
    runs.profile,
    runs.stack,
    count(DISTINCT run_id) AS launches,
    avg(value) FILTER (WHERE metric = 'ttft.p50') AS ttft_p50_s,
    avg(value) FILTER (WHERE metric = 'ttft.p95') AS ttft_p95_s,
    avg(value) FILTER (WHERE metric = 'tpot.mean') AS tpot_mean_s,
    avg(value) FILTER (WHERE metric = 'e2e.p50') AS e2e_p50_s,
    avg(value) FILTER (WHERE metric = 'e2e.p95') AS e2e_p95_s,
    avg(value) FILTER (WHERE metric = 'request_throughput') AS requests_per_s,
    avg(value) FILTER (WHERE metric = 'output_token_throughput') AS output_tokens_per_s
FROM usable_runs AS runs
JOIN metrics USING (run_id)
WHERE runs.role = 'timed' AND runs.state = 'completed'
  AND metrics.metric IN (
      'ttft.p50', 'ttft.p95', 'tpot.mean', 'e2e.p50', 'e2e.p95', 'request_throughput', 'output_token_throughput'
  )
GROUP BY ALL
HAVING requests_per_s IS NOT NULL
ORDER BY ALL;
