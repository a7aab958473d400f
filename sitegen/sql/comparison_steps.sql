-- The clock of each profiled launch: mean step with and without the profiler, in seconds.
SELECT s.run_id, s.phase, avg(s.duration_ns) / 1e9 AS seconds
FROM steps AS s
JOIN runs AS r USING (run_id)
WHERE r.benchmark = ? AND r.role = 'profiled' AND s.phase IN ('measured', 'profiled') AND s.duration_ns > 0
GROUP BY s.run_id, s.phase
ORDER BY s.run_id, s.phase
