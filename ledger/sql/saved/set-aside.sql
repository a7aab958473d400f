-- title: Runs that statistics leave out, since when and why
SELECT runs.benchmark, runs.stack, runs.role, runs.repeat, set_aside.cause, set_aside.why, set_aside."at" AS since, runs.run_id
FROM set_aside
JOIN runs USING (run_id)
ORDER BY since, runs.run_id;
