-- title: Kernels, or without a device operators, that take the most time of each profiled run
-- Times are sums of durations as the profiler recorded them: an operator's holds that of what it calls, and kernels on
-- several streams may overlap, so that sums may exceed the step.
WITH device AS (
    SELECT DISTINCT run_id FROM events WHERE kind = 'kernel'
),
named AS (
    SELECT
        run_id,
        rank,
        kind,
        name,
        count(*) AS calls,
        sum(duration_ns) / 1e9 AS seconds,
        max(duration_ns) / 1e9 AS longest_s
    FROM events
    WHERE kind = CASE WHEN run_id IN (FROM device) THEN 'kernel' ELSE 'operator' END
    GROUP BY ALL
)
SELECT runs.benchmark, runs.stack, runs.repeat, run_id, rank, kind, name, calls, seconds, longest_s
FROM named
JOIN usable_runs AS runs USING (run_id)
QUALIFY row_number() OVER (PARTITION BY run_id, rank ORDER BY seconds DESC, name) <= 10
ORDER BY runs.benchmark, runs.stack, runs.repeat, run_id, rank, seconds DESC, name;
