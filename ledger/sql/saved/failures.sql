-- title: Failed and excluded trials, and why
SELECT benchmark, stack, role, repeat, state, reason, detail, run_id
FROM trials
WHERE state IN ('failed', 'excluded')
ORDER BY benchmark, stack, role, repeat;
