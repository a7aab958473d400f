-- title: Where the time of a step goes, by stack, from the traces of profiled launches
-- Parts without a dot are disjoint and add up to the traced step; compute.* are parts of compute. A launch with several
-- ranks counts once, with the mean of its ranks.
WITH launches AS (
    SELECT
        runs.benchmark, runs.profile, runs.workload_digest, runs.stack, runs.run_id, metrics.metric,
        avg(metrics.value) AS value
    FROM usable_runs AS runs
    JOIN metrics USING (run_id)
    WHERE runs.role = 'profiled'
      AND runs.state = 'completed'
      AND metrics.step IS NULL
      AND (metrics.metric IN ('traced_step_time', 'compute', 'exposed_communication', 'exposed_copy', 'input_wait',
                              'host_gap', 'idle')
           OR metrics.metric LIKE 'compute.%')
    GROUP BY ALL
),
parts AS (
    SELECT benchmark, profile, workload_digest, stack, metric, count(value) AS launches, avg(value) AS seconds
    FROM launches
    GROUP BY ALL
)
SELECT
    parts.benchmark,
    parts.profile,
    parts.stack,
    parts.metric AS part,
    parts.launches,
    parts.seconds,
    parts.seconds / whole.seconds AS share
FROM parts
JOIN parts AS whole
  ON whole.metric = 'traced_step_time'
 AND (whole.benchmark, whole.workload_digest, whole.stack) = (parts.benchmark, parts.workload_digest, parts.stack)
 AND whole.profile IS NOT DISTINCT FROM parts.profile
WHERE parts.seconds > 0
ORDER BY parts.benchmark, parts.profile NULLS FIRST, parts.workload_digest, parts.stack, parts.metric <> 'traced_step_time',
         starts_with(parts.metric, 'compute.'), parts.seconds DESC;
