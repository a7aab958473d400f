-- title: Step time of each stack, with its spread over timed launches
-- Each launch counts once, with its mean over measured steps; spread is the standard deviation as a share of the mean.
SELECT
    runs.benchmark,
    runs.profile,
    runs.stack,
    count(*) AS launches,
    avg(metrics.value) AS mean_s,
    min(metrics.value) AS fastest_s,
    max(metrics.value) AS slowest_s,
    stddev_samp(metrics.value) / avg(metrics.value) AS spread
FROM usable_runs AS runs
JOIN metrics USING (run_id)
WHERE runs.role = 'timed'
  AND runs.state = 'completed'
  AND metrics.metric = 'step_time'
  AND metrics.rank IS NULL
  AND metrics.step IS NULL
  AND metrics.value IS NOT NULL
GROUP BY runs.benchmark, runs.profile, runs.workload_digest, runs.stack
ORDER BY runs.benchmark, runs.profile NULLS FIRST, runs.workload_digest, mean_s;
