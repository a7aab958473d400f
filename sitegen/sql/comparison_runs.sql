-- Runs of one benchmark, oldest first, with the reason that sets a run aside, if any.
SELECT
    r.run_id, r.trial_key, r.stack, r.role, r.repeat, r.attempt, r.launch_order, r.state, r.reason, r.detail,
    r.started_at, r.host, r.path, r.workload_digest, r.environment_digest, r.batch, r.profile, r.commit, r.blob,
    r.adapter, r.intervention, r.changed, r.tuned_stack, r.tuned_by, epoch(r.ended_at - r.started_at) AS seconds,
    f.space, f.number, f.method, f.parameters, f.chosen_by,
    s.cause || CASE WHEN coalesce(s.why, '') = '' THEN '' ELSE ': ' || s.why END AS set_aside
FROM runs AS r
LEFT JOIN set_aside AS s USING (run_id)
LEFT JOIN searches AS f USING (run_id)
WHERE r.benchmark = ? AND NOT r.duplicate_of_attempt
ORDER BY r.started_at, r.batch, r.launch_order, r.run_id
