-- title: Settings that are not the same on every stack of a benchmark
-- One row a setting, stack and value; `not set` where a stack has no such setting.
WITH stacks AS (
    SELECT DISTINCT benchmark, stack FROM usable_runs
),
found AS (
    SELECT DISTINCT runs.benchmark, runs.stack, settings.setting, settings.value
    FROM usable_runs AS runs
    JOIN settings USING (run_id)
),
complete AS (
    SELECT stacks.benchmark, stacks.stack, names.setting, coalesce(found.value, 'not set') AS value
    FROM stacks
    JOIN (SELECT DISTINCT benchmark, setting FROM found) AS names USING (benchmark)
    LEFT JOIN found USING (benchmark, stack, setting)
)
SELECT benchmark, setting, stack, value
FROM complete
WINDOW same AS (PARTITION BY benchmark, setting)
QUALIFY min(value) OVER same <> max(value) OVER same
ORDER BY benchmark, setting, stack, value;
