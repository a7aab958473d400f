-- What each batch of one benchmark planned, oldest first.
SELECT p.batch, p.stack, p.role, p.repeat, p.trial_key, p.state, p.reason, p.install, p.created_at, p.workload_digest,
    p.profile, p.tuned_stack, p.space
FROM plans AS p
WHERE p.benchmark = ?
ORDER BY p.created_at, p.batch, p.launch_order
