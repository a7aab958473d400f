-- Views over the catalog's tables: what most questions start from.

CREATE VIEW latest_status AS
SELECT run_id, kind, "at", who, why, by_run
FROM status
QUALIFY row_number() OVER (PARTITION BY run_id ORDER BY "at" DESC, kind) = 1;
COMMENT ON VIEW latest_status IS 'The latest record about each run that has any.';
COMMENT ON COLUMN latest_status.run_id IS 'The run.';
COMMENT ON COLUMN latest_status.kind IS 'superseded, retracted, redacted or excluded.';
COMMENT ON COLUMN latest_status."at" IS 'When it was said, UTC.';
COMMENT ON COLUMN latest_status.who IS 'Who said it.';
COMMENT ON COLUMN latest_status.why IS 'The reason given.';
COMMENT ON COLUMN latest_status.by_run IS 'superseded: the run that takes its place.';

-- Records are only added, so no later one takes an earlier one back. A redaction sets a run aside only when it took away
-- something that numbers come from: logs and raw traces may go.
CREATE VIEW set_aside AS
WITH causes AS (
    SELECT run_id, kind, why, "at"
    FROM status
    WHERE kind <> 'redacted'
       OR len(list_filter(from_json(coalesce(paths, '[]'), '["VARCHAR"]'),
                          lambda path: NOT regexp_matches(path, '^(logs|traces)/'))) > 0
    UNION ALL
    SELECT run_id, 'duplicate', 'another process ran the same trial', started_at
    FROM runs
    WHERE duplicate_of_attempt
)
SELECT run_id, kind AS cause, why, "at"
FROM causes
QUALIFY row_number() OVER (PARTITION BY run_id ORDER BY "at" DESC, kind) = 1;
COMMENT ON VIEW set_aside IS 'Runs that statistics leave out, and why.';
COMMENT ON COLUMN set_aside.run_id IS 'The run.';
COMMENT ON COLUMN set_aside.cause IS 'superseded, retracted, redacted, excluded or duplicate.';
COMMENT ON COLUMN set_aside.why IS 'The reason given.';
COMMENT ON COLUMN set_aside."at" IS 'Since when, UTC.';

CREATE VIEW usable_runs AS
SELECT runs.* FROM runs ANTI JOIN set_aside USING (run_id);
COMMENT ON VIEW usable_runs IS 'Runs that comparisons read: not retracted, superseded, excluded, redacted or a duplicate.';

-- One row a trial: every key that a plan names or that a run has.
CREATE VIEW trials AS
WITH known AS (
    SELECT trial_key, benchmark, stack, role, repeat, workload_digest, profile, batch, state, reason, install, created_at
    FROM plans
    UNION ALL
    SELECT trial_key, benchmark, stack, role, repeat, workload_digest, profile, batch, 'planned', NULL, NULL, started_at
    FROM runs
    WHERE trial_key NOT IN (SELECT trial_key FROM plans)
),
latest AS (
    SELECT * FROM known QUALIFY row_number() OVER (PARTITION BY trial_key ORDER BY created_at DESC, batch) = 1
),
settled AS (
    SELECT trial_key, run_id, state, reason, detail
    FROM usable_runs
    QUALIFY row_number() OVER (PARTITION BY trial_key ORDER BY state, attempt DESC, started_at DESC) = 1
),
aside AS (
    SELECT runs.trial_key, runs.run_id, set_aside.cause, set_aside.why
    FROM runs JOIN set_aside USING (run_id)
    QUALIFY row_number() OVER (PARTITION BY runs.trial_key ORDER BY runs.attempt DESC, runs.started_at DESC) = 1
),
attempts AS (
    SELECT trial_key, count(*) AS attempts FROM runs GROUP BY trial_key
)
SELECT
    latest.trial_key,
    latest.benchmark,
    latest.stack,
    latest.role,
    latest.repeat,
    CASE
        WHEN settled.run_id IS NOT NULL THEN settled.state
        WHEN aside.run_id IS NOT NULL OR latest.state = 'excluded' THEN 'excluded'
        ELSE 'missing'
    END AS state,
    CASE
        WHEN settled.run_id IS NOT NULL THEN settled.reason
        WHEN aside.run_id IS NOT NULL THEN aside.cause
        ELSE latest.reason
    END AS reason,
    CASE
        WHEN settled.run_id IS NOT NULL THEN settled.detail
        WHEN aside.run_id IS NOT NULL THEN aside.why
        ELSE latest.install
    END AS detail,
    coalesce(settled.run_id, aside.run_id) AS run_id,
    coalesce(attempts.attempts, 0) AS attempts,
    latest.workload_digest,
    latest.profile,
    latest.batch
FROM latest
LEFT JOIN settled USING (trial_key)
LEFT JOIN aside USING (trial_key)
LEFT JOIN attempts USING (trial_key);
COMMENT ON VIEW trials IS 'One row a trial, launched or not: planned = completed + failed + excluded (+ missing, while a batch is unfinished).';
COMMENT ON COLUMN trials.trial_key IS 'Identity of the trial.';
COMMENT ON COLUMN trials.benchmark IS 'Name of the benchmark.';
COMMENT ON COLUMN trials.stack IS 'Name of the stack.';
COMMENT ON COLUMN trials.role IS 'What the trial is for.';
COMMENT ON COLUMN trials.repeat IS 'Counts from 1 within stack and role.';
COMMENT ON COLUMN trials.state IS 'completed, failed, excluded (not launched, or set aside later) or missing (planned, not launched yet).';
COMMENT ON COLUMN trials.reason IS 'Why it failed or was excluded.';
COMMENT ON COLUMN trials.detail IS 'A sentence on the reason; for a missing prerequisite the command that installs it.';
COMMENT ON COLUMN trials.run_id IS 'The run that counts (a completed one before a failed one, then the last attempt); NULL when not launched.';
COMMENT ON COLUMN trials.attempts IS 'How many run folders the trial has.';
COMMENT ON COLUMN trials.workload_digest IS 'Digest of the workload as declared.';
COMMENT ON COLUMN trials.profile IS 'Named short form of the benchmark file; NULL for the full benchmark.';
COMMENT ON COLUMN trials.batch IS 'The latest plan that names it.';

-- trace_events stands for the Parquet files of the trace cache; it is empty until a query names this view.
CREATE VIEW events AS
SELECT
    run_id,
    rank,
    CASE kind
        WHEN 0 THEN 'operator'
        WHEN 1 THEN 'annotation'
        WHEN 2 THEN 'runtime'
        WHEN 3 THEN 'kernel'
        WHEN 4 THEN 'memcpy'
        WHEN 5 THEN 'memset'
        WHEN 6 THEN 'python'
        WHEN 7 THEN 'device_range'
        ELSE 'other'
    END AS kind,
    category, name, process, thread, start_ns, duration_ns, correlation, external_id, flops, bytes, blocks_per_sm
FROM trace_events;
COMMENT ON VIEW events IS 'Every timed event of every trace. The traces are read when a query first names this table.';
COMMENT ON COLUMN events.run_id IS 'The run.';
COMMENT ON COLUMN events.rank IS 'The trace''s rank; NULL where neither the trace nor its name tells.';
COMMENT ON COLUMN events.kind IS 'operator, annotation, runtime, kernel, memcpy, memset, python, device_range or other.';
COMMENT ON COLUMN events.category IS 'The profiler''s own word for the kind.';
COMMENT ON COLUMN events.name IS 'Name of the operator, kernel, range or call.';
COMMENT ON COLUMN events.process IS 'Process; of device work the device.';
COMMENT ON COLUMN events.thread IS 'Thread; of device work the stream.';
COMMENT ON COLUMN events.start_ns IS 'Start in nanoseconds on the trace''s own clock.';
COMMENT ON COLUMN events.duration_ns IS 'Duration in nanoseconds.';
COMMENT ON COLUMN events.correlation IS 'Links a runtime call with the device work that it launched; NULL without one.';
COMMENT ON COLUMN events.external_id IS 'Links device work with the operator that launched it; NULL without one.';
COMMENT ON COLUMN events.flops IS 'Operations by the shapes recorded; NULL without shapes or a rule for the operator.';
COMMENT ON COLUMN events.bytes IS 'Bytes that a copy or fill moved.';
COMMENT ON COLUMN events.blocks_per_sm IS 'Thread blocks of a kernel over the device''s multiprocessors.';
