-- title: Collectives of each profiled run by operation, with waiting told from transfer
-- Times are sums over the collectives of all profiled steps; waiting is known where every rank of the group has a trace.
SELECT
    runs.benchmark,
    runs.stack,
    runs.repeat,
    run_id,
    rank,
    operation,
    group_size,
    count(*) AS calls,
    sum(bytes) AS bytes,
    sum(duration_ns) / 1e9 AS seconds,
    sum(peer_wait_ns) / 1e9 AS peer_wait_s,
    sum(bytes * bus_bandwidth / algorithm_bandwidth) FILTER (algorithm_bandwidth > 0)
        / nullif(sum(transfer_ns) FILTER (algorithm_bandwidth > 0), 0) * 1e9 AS bus_bandwidth
FROM collectives
JOIN usable_runs AS runs USING (run_id)
WHERE in_steps
GROUP BY ALL
ORDER BY ALL;
