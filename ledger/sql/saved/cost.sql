-- title: What an accepted result costs, by stack, and what the stated demand costs a month, mean over timed launches
-- Money is in the currency of the benchmark file's prices. NULL where the file states no price or no demand.
SELECT
    runs.benchmark,
    runs.profile,
    runs.stack,
    count(DISTINCT run_id) AS launches,
    avg(value) FILTER (WHERE metric = 'acceptance_rate') AS acceptance_rate,
    avg(value) FILTER (WHERE metric = 'accepted_throughput') AS accepted_per_s,
    avg(value) FILTER (WHERE metric = 'cost_per_accepted_result') AS per_accepted_result,
    max(value) FILTER (WHERE metric = 'machines_at_demand') AS machines_at_demand,
    avg(value) FILTER (WHERE metric = 'cost_per_month_at_demand') AS per_month_at_demand,
    avg(value) FILTER (WHERE metric = 'cost_per_accepted_result_at_demand') AS per_accepted_result_at_demand
FROM usable_runs AS runs
JOIN metrics USING (run_id)
WHERE runs.role = 'timed' AND runs.state = 'completed'
GROUP BY ALL
HAVING accepted_per_s IS NOT NULL
ORDER BY benchmark, profile, per_accepted_result NULLS LAST, stack;
