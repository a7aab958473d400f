-- title: What the first step costs: cold in the warm-up launch, warm in the timed ones
-- The difference between the first step and a later one is start-up: lazy initialisation and, with a compiler, compilation.
WITH measured AS (
    SELECT runs.benchmark, runs.profile, runs.workload_digest, runs.stack, runs.role, metrics.metric, metrics.value
    FROM usable_runs AS runs
    JOIN metrics USING (run_id)
    WHERE runs.state = 'completed'
      AND metrics.metric IN ('first_step_time', 'step_time')
      AND metrics.rank IS NULL
      AND metrics.step IS NULL
)
SELECT
    benchmark,
    profile,
    stack,
    avg(value) FILTER (WHERE role = 'warmup' AND metric = 'first_step_time') AS cold_first_step_s,
    avg(value) FILTER (WHERE role = 'timed' AND metric = 'first_step_time') AS warm_first_step_s,
    avg(value) FILTER (WHERE role = 'timed' AND metric = 'step_time') AS step_s,
    cold_first_step_s - step_s AS cold_overhead_s,
    warm_first_step_s - step_s AS warm_overhead_s
FROM measured
GROUP BY benchmark, profile, workload_digest, stack
ORDER BY benchmark, profile NULLS FIRST, workload_digest, cold_overhead_s DESC NULLS LAST, stack;
