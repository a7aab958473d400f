-- Values that stand for a whole run (or one rank of it); where a definition was derived again, that value.
SELECT m.run_id, m.metric, m.definition, m.version, m.unit, m.rank, m.value, m.missing_reason
FROM metrics AS m
JOIN runs AS r USING (run_id)
WHERE r.benchmark = ? AND m.step IS NULL
QUALIFY row_number() OVER (
    PARTITION BY m.run_id, m.metric, m.version, m.rank
    ORDER BY CASE m.origin WHEN 'derived' THEN 0 ELSE 1 END
) = 1
ORDER BY m.run_id, m.metric, m.version, m.rank
