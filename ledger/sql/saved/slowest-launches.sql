-- title: Timed launches that are slowest against their own stack's median
SELECT
    runs.benchmark,
    runs.stack,
    runs.repeat,
    runs.launch_order,
    metrics.value AS step_s,
    metrics.value / median(metrics.value) OVER same AS to_median,
    runs.started_at,
    runs.host,
    runs.run_id
FROM usable_runs AS runs
JOIN metrics USING (run_id)
WHERE runs.role = 'timed'
  AND runs.state = 'completed'
  AND metrics.metric = 'step_time'
  AND metrics.rank IS NULL
  AND metrics.step IS NULL
  AND metrics.value IS NOT NULL
WINDOW same AS (PARTITION BY runs.benchmark, runs.profile, runs.workload_digest, runs.stack)
ORDER BY to_median DESC, runs.run_id
LIMIT 20;
