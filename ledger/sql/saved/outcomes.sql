-- title: Trials by stack, role and outcome: planned = completed + failed + excluded
-- `missing` counts trials that are planned and not launched yet.
SELECT
    benchmark,
    profile,
    stack,
    role,
    count(*) AS planned,
    count_if(state = 'completed') AS completed,
    count_if(state = 'failed') AS failed,
    count_if(state = 'excluded') AS excluded,
    count_if(state = 'missing') AS missing
FROM trials
GROUP BY benchmark, profile, workload_digest, stack, role
ORDER BY benchmark, profile NULLS FIRST, workload_digest, stack, role;
