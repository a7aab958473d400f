-- title: Metrics without a value, and the reason that was recorded
SELECT metrics.metric, metrics.missing_reason AS reason, runs.stack, runs.role, runs.state, count(*) AS runs
FROM metrics
JOIN usable_runs AS runs USING (run_id)
WHERE metrics.value IS NULL
GROUP BY ALL
ORDER BY metrics.metric, reason, runs.stack, runs.role;
