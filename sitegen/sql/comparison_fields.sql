-- Every field that a run recorded about what it was: card, environment and settings, named by origin and path.
SELECT c.run_id, 'card.' || c.field AS field, CAST(c.value AS VARCHAR) AS value
FROM cards AS c
JOIN runs AS r USING (run_id)
WHERE r.benchmark = ?1
UNION ALL
SELECT e.run_id, 'environment.' || e.field, CAST(e.value AS VARCHAR)
FROM environments AS e
JOIN runs AS r USING (run_id)
WHERE r.benchmark = ?1
UNION ALL
SELECT s.run_id, 'setting.' || s.setting, CAST(s.value AS VARCHAR)
FROM settings AS s
JOIN runs AS r USING (run_id)
WHERE r.benchmark = ?1
ORDER BY 1, 2
