-- The catalog's tables. Columns are public: they are only added, each with a comment.
-- Times are in UTC, durations in nanoseconds (_ns) or seconds, sizes in bytes; a value that was not measured is NULL.

CREATE TABLE runs (
    run_id VARCHAR PRIMARY KEY,
    trial_key VARCHAR NOT NULL,
    benchmark VARCHAR NOT NULL,
    stack VARCHAR NOT NULL,
    role VARCHAR NOT NULL,
    repeat INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    launch_order INTEGER NOT NULL,
    state VARCHAR NOT NULL,
    reason VARCHAR,
    started_at TIMESTAMPTZ NOT NULL,
    ended_at TIMESTAMPTZ NOT NULL,
    host VARCHAR NOT NULL,
    path VARCHAR NOT NULL,
    detail VARCHAR,
    accepted BOOLEAN,
    workload_digest VARCHAR NOT NULL,
    environment_digest VARCHAR NOT NULL,
    batch VARCHAR NOT NULL,
    profile VARCHAR,
    commit VARCHAR,
    blob VARCHAR,
    duplicate_of_attempt BOOLEAN NOT NULL,
    adapter VARCHAR NOT NULL,
    intervention VARCHAR,
    changed BOOLEAN,
    tuned_stack VARCHAR,
    tuned_by VARCHAR
);
COMMENT ON TABLE runs IS 'Every sealed run folder, one row a trial that was launched, set aside or not.';
COMMENT ON COLUMN runs.run_id IS 'First 16 hex digits of the manifest''s sha256: names the run for ever.';
COMMENT ON COLUMN runs.trial_key IS 'Identity of the planned launch: benchmark, workload, stack, settings, environment, role, repeat.';
COMMENT ON COLUMN runs.benchmark IS 'Name of the benchmark.';
COMMENT ON COLUMN runs.stack IS 'Name of the stack in the benchmark file.';
COMMENT ON COLUMN runs.role IS 'What the trial is for: timed, profiled, warmup, search, transfer, intervention or reproduction.';
COMMENT ON COLUMN runs.repeat IS 'Counts from 1 within stack and role.';
COMMENT ON COLUMN runs.attempt IS 'Counts from 1 within one trial key.';
COMMENT ON COLUMN runs.launch_order IS 'Position in the batch''s launch sequence, from 1: shows that launches were interleaved.';
COMMENT ON COLUMN runs.state IS 'completed or failed.';
COMMENT ON COLUMN runs.reason IS 'Why a failed trial failed, from a closed list; NULL when it completed.';
COMMENT ON COLUMN runs.started_at IS 'Start of the launch, UTC.';
COMMENT ON COLUMN runs.ended_at IS 'End of the launch, UTC.';
COMMENT ON COLUMN runs.host IS 'Name of the machine that launched it.';
COMMENT ON COLUMN runs.path IS 'The run folder, relative to the evidence folder.';
COMMENT ON COLUMN runs.detail IS 'One sentence on how the launch ended.';
COMMENT ON COLUMN runs.accepted IS 'Whether the result passed the workload''s acceptance check; NULL when it was not judged.';
COMMENT ON COLUMN runs.workload_digest IS 'Digest of the workload as declared: runs with different ones did different work.';
COMMENT ON COLUMN runs.environment_digest IS 'Digest of the packages that the stack depends on, and what else decides its environment.';
COMMENT ON COLUMN runs.batch IS 'Id of the plan that launched it.';
COMMENT ON COLUMN runs.profile IS 'Named short form of the benchmark file that was used; NULL for the full benchmark.';
COMMENT ON COLUMN runs.commit IS 'Git commit of the benchmark file; NULL when it was not committed.';
COMMENT ON COLUMN runs.blob IS 'Git blob of the benchmark file; NULL when it was not committed.';
COMMENT ON COLUMN runs.duplicate_of_attempt IS 'True when another process ran the same trial at the same time: never counted.';
COMMENT ON COLUMN runs.adapter IS 'The adapter that launched the stack.';
COMMENT ON COLUMN runs.intervention IS 'Name of the intervention that the launch is part of; NULL for any other role.';
COMMENT ON COLUMN runs.changed IS 'Whether it ran with the intervention''s change, or as it is, beside it; NULL for any other role.';
COMMENT ON COLUMN runs.tuned_stack IS 'The stack whose search found the settings: a transfer''s may be another one. NULL where no search did.';
COMMENT ON COLUMN runs.tuned_by IS 'The search trial whose settings it was launched with; joins to runs.run_id. NULL where no search chose them.';

CREATE TABLE searches (
    run_id VARCHAR NOT NULL,
    space VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    method VARCHAR NOT NULL,
    seed BIGINT NOT NULL,
    parameters VARCHAR NOT NULL,
    chosen_by VARCHAR NOT NULL,
    known_runs VARCHAR NOT NULL
);
COMMENT ON TABLE searches IS 'What chose the settings of each search trial: its place in the tuning path of its stack.';
COMMENT ON COLUMN searches.run_id IS 'The run.';
COMMENT ON COLUMN searches.space IS 'Digest of all that is searched and held: trials with the same one are one tuning path.';
COMMENT ON COLUMN searches.number IS 'Place in the tuning path, from 1.';
COMMENT ON COLUMN searches.method IS 'grid, random or tpe.';
COMMENT ON COLUMN searches.seed IS 'Seed of the method.';
COMMENT ON COLUMN searches.parameters IS 'The searched settings with their values, as JSON.';
COMMENT ON COLUMN searches.chosen_by IS 'What chose them, in words.';
COMMENT ON COLUMN searches.known_runs IS 'Ids of the runs whose results it knew, as a JSON list.';

CREATE TABLE metrics (
    run_id VARCHAR NOT NULL,
    metric VARCHAR NOT NULL,
    definition VARCHAR NOT NULL,
    version INTEGER NOT NULL,
    origin VARCHAR NOT NULL,
    unit VARCHAR NOT NULL,
    rank INTEGER,
    step INTEGER,
    value DOUBLE,
    missing_reason VARCHAR
);
COMMENT ON TABLE metrics IS 'Values of metrics, or the reason why there is none.';
COMMENT ON COLUMN metrics.run_id IS 'The run.';
COMMENT ON COLUMN metrics.metric IS 'The metric''s id.';
COMMENT ON COLUMN metrics.definition IS 'Metric and version of its definition, such as step_time@1.';
COMMENT ON COLUMN metrics.version IS 'Version of the definition.';
COMMENT ON COLUMN metrics.origin IS 'sealed: derived when the run was collected. derived: computed later.';
COMMENT ON COLUMN metrics.unit IS 'Base unit of the value: s, B, share, tokens/s.';
COMMENT ON COLUMN metrics.rank IS 'The process the value belongs to; NULL for the whole run.';
COMMENT ON COLUMN metrics.step IS 'The step the value belongs to; NULL for the whole run.';
COMMENT ON COLUMN metrics.value IS 'The value in its base unit; NULL when it is missing.';
COMMENT ON COLUMN metrics.missing_reason IS 'Why there is no value; NULL when there is one.';

CREATE TABLE steps (
    run_id VARCHAR NOT NULL,
    step INTEGER,
    phase VARCHAR,
    start_ns BIGINT,
    duration_ns BIGINT,
    samples BIGINT,
    tokens BIGINT,
    loss DOUBLE
);
COMMENT ON TABLE steps IS 'One row an optimizer step of a training trial.';
COMMENT ON COLUMN steps.run_id IS 'The run.';
COMMENT ON COLUMN steps.step IS 'The step''s number.';
COMMENT ON COLUMN steps.phase IS 'warmup, measured or profiled.';
COMMENT ON COLUMN steps.start_ns IS 'Nanoseconds since the first step''s start.';
COMMENT ON COLUMN steps.duration_ns IS 'Wall time of the step in nanoseconds.';
COMMENT ON COLUMN steps.samples IS 'Sequences that the step trained on.';
COMMENT ON COLUMN steps.tokens IS 'Tokens that the step trained on.';
COMMENT ON COLUMN steps.loss IS 'Training loss of the step, nats a token.';

CREATE TABLE requests (
    run_id VARCHAR NOT NULL,
    request INTEGER,
    item VARCHAR,
    attempt INTEGER,
    phase VARCHAR,
    level DOUBLE,
    scheduled_ns BIGINT,
    sent_ns BIGINT,
    first_token_ns BIGINT,
    ended_ns BIGINT,
    chunk_gaps_ns BIGINT[],
    one_token_a_chunk BOOLEAN,
    queue_ns BIGINT,
    input_tokens BIGINT,
    cached_tokens BIGINT,
    output_tokens BIGINT,
    text VARCHAR,
    finish_reason VARCHAR,
    error VARCHAR,
    accepted BOOLEAN,
    why VARCHAR
);
COMMENT ON TABLE requests IS 'One row a request to a server, or an attempt at a task, warm-up included (samples/requests.parquet).';
COMMENT ON COLUMN requests.run_id IS 'The run.';
COMMENT ON COLUMN requests.request IS 'Order in which the requests of a phase and level were due, from 0.';
COMMENT ON COLUMN requests.item IS 'Name of the prompt or the task: the unit of quality.';
COMMENT ON COLUMN requests.attempt IS 'At this item in this launch, from 1.';
COMMENT ON COLUMN requests.phase IS 'warmup, measured, sweep or profiled.';
COMMENT ON COLUMN requests.level IS 'Offered load: requests a second, requests in flight, or times production''s rate.';
COMMENT ON COLUMN requests.scheduled_ns IS 'When it was due, since the phase''s start; NULL in a closed loop.';
COMMENT ON COLUMN requests.sent_ns IS 'When it was sent, since the phase''s start.';
COMMENT ON COLUMN requests.first_token_ns IS 'When its first content came; NULL when none came.';
COMMENT ON COLUMN requests.ended_ns IS 'When its last token came, or its error.';
COMMENT ON COLUMN requests.chunk_gaps_ns IS 'Times between chunks with content, in order.';
COMMENT ON COLUMN requests.one_token_a_chunk IS 'Whether the chunks are as many as the output''s tokens.';
COMMENT ON COLUMN requests.queue_ns IS 'Wait in the server''s queue, where the server tells it.';
COMMENT ON COLUMN requests.input_tokens IS 'Tokens of the prompt, as the server counts them.';
COMMENT ON COLUMN requests.cached_tokens IS 'Tokens of the prompt that the server had already.';
COMMENT ON COLUMN requests.output_tokens IS 'Tokens of the answer, as the server counts them.';
COMMENT ON COLUMN requests.text IS 'The answer.';
COMMENT ON COLUMN requests.finish_reason IS 'Why the answer ended, as the server tells.';
COMMENT ON COLUMN requests.error IS 'What went wrong, in one line; NULL when it was answered.';
COMMENT ON COLUMN requests.accepted IS 'Whether the answer passed the workload''s acceptance check; NULL when it could not be judged.';
COMMENT ON COLUMN requests.why IS 'Why it was not accepted.';

CREATE TABLE telemetry (
    run_id VARCHAR NOT NULL,
    elapsed_ns BIGINT,
    device VARCHAR,
    utilisation DOUBLE,
    memory_bytes BIGINT,
    power_w DOUBLE,
    energy_j DOUBLE,
    clock_hz BIGINT,
    memory_activity DOUBLE,
    memory_clock_hz BIGINT,
    temperature_c DOUBLE,
    throttled_by VARCHAR[],
    pcie_received_bytes_per_s DOUBLE,
    pcie_sent_bytes_per_s DOUBLE,
    pcie_replays BIGINT,
    nvlink_received_bytes BIGINT,
    nvlink_sent_bytes BIGINT,
    cpu_stall_s DOUBLE,
    memory_stall_s DOUBLE,
    io_stall_s DOUBLE,
    disk_read_bytes BIGINT,
    disk_written_bytes BIGINT,
    network_received_bytes BIGINT,
    network_sent_bytes BIGINT,
    in_use BOOLEAN,
    trial_memory_bytes BIGINT
);
COMMENT ON TABLE telemetry IS 'One row a sample a device, taken beside the trial.';
COMMENT ON COLUMN telemetry.run_id IS 'The run.';
COMMENT ON COLUMN telemetry.elapsed_ns IS 'Nanoseconds since the launch.';
COMMENT ON COLUMN telemetry.device IS 'host, gpu0, gpu1 and so on; a MIG instance is gpu0/mig0.';
COMMENT ON COLUMN telemetry.utilisation IS 'Share of the device''s capacity in use, 0 to 1.';
COMMENT ON COLUMN telemetry.memory_bytes IS 'host: resident set of the trial''s processes; a GPU: its used memory.';
COMMENT ON COLUMN telemetry.power_w IS 'Power in watts; NULL without a sensor.';
COMMENT ON COLUMN telemetry.energy_j IS 'The device''s own energy counter since the launch, joules; NULL without one.';
COMMENT ON COLUMN telemetry.clock_hz IS 'Clock in hertz: the processors'' mean, or a GPU''s multiprocessors; NULL where it cannot be read.';
COMMENT ON COLUMN telemetry.memory_activity IS 'Share of the time in which a GPU''s memory was read or written, 0 to 1.';
COMMENT ON COLUMN telemetry.memory_clock_hz IS 'Clock of a GPU''s memory in hertz.';
COMMENT ON COLUMN telemetry.temperature_c IS 'Temperature in degrees Celsius.';
COMMENT ON COLUMN telemetry.throttled_by IS 'What holds a GPU''s clocks down, in NVML''s words; empty when nothing does, NULL where it is not told.';
COMMENT ON COLUMN telemetry.pcie_received_bytes_per_s IS 'PCIe traffic to a GPU, bytes a second.';
COMMENT ON COLUMN telemetry.pcie_sent_bytes_per_s IS 'PCIe traffic from a GPU, bytes a second.';
COMMENT ON COLUMN telemetry.pcie_replays IS 'PCIe packets sent again since the launch.';
COMMENT ON COLUMN telemetry.nvlink_received_bytes IS 'Bytes received over all NVLinks since the launch.';
COMMENT ON COLUMN telemetry.nvlink_sent_bytes IS 'Bytes sent over all NVLinks since the launch.';
COMMENT ON COLUMN telemetry.cpu_stall_s IS 'host: seconds since the launch in which a task at least waited for a processor.';
COMMENT ON COLUMN telemetry.memory_stall_s IS 'host: seconds since the launch in which a task at least waited for memory.';
COMMENT ON COLUMN telemetry.io_stall_s IS 'host: seconds since the launch in which a task at least waited for a disk.';
COMMENT ON COLUMN telemetry.disk_read_bytes IS 'host: bytes read from all disks since the launch.';
COMMENT ON COLUMN telemetry.disk_written_bytes IS 'host: bytes written to all disks since the launch.';
COMMENT ON COLUMN telemetry.network_received_bytes IS 'host: bytes received since the launch, loopback left out.';
COMMENT ON COLUMN telemetry.network_sent_bytes IS 'host: bytes sent since the launch, loopback left out.';
COMMENT ON COLUMN telemetry.in_use IS 'Whether a process of the trial computes on the device; NULL where NVML does not tell.';
COMMENT ON COLUMN telemetry.trial_memory_bytes IS 'Device memory of the trial''s processes, bytes.';

CREATE TABLE cards (run_id VARCHAR NOT NULL, field VARCHAR NOT NULL, value VARCHAR NOT NULL);
COMMENT ON TABLE cards IS 'Leaves of the workload card.';
COMMENT ON COLUMN cards.run_id IS 'The run.';
COMMENT ON COLUMN cards.field IS 'Path of the leaf, its keys joined by dots; a list is one leaf.';
COMMENT ON COLUMN cards.value IS 'The value as JSON text.';

CREATE TABLE settings (run_id VARCHAR NOT NULL, setting VARCHAR NOT NULL, value VARCHAR NOT NULL);
COMMENT ON TABLE settings IS 'Resolved settings of the stack, defaults too.';
COMMENT ON COLUMN settings.run_id IS 'The run.';
COMMENT ON COLUMN settings.setting IS 'Name of the setting; the keys of a nested one joined by dots.';
COMMENT ON COLUMN settings.value IS 'The value as JSON text.';

CREATE TABLE environments (run_id VARCHAR NOT NULL, field VARCHAR NOT NULL, value VARCHAR NOT NULL);
COMMENT ON TABLE environments IS 'Leaves of the environment that the trial ran in: packages, hardware, variables.';
COMMENT ON COLUMN environments.run_id IS 'The run.';
COMMENT ON COLUMN environments.field IS 'Path of the leaf, its keys joined by dots; a list is one leaf.';
COMMENT ON COLUMN environments.value IS 'The value as JSON text.';

CREATE TABLE prices (
    run_id VARCHAR NOT NULL,
    amount DOUBLE,
    currency VARCHAR,
    per VARCHAR,
    "commitment" VARCHAR,
    source VARCHAR,
    as_of DATE
);
COMMENT ON TABLE prices IS 'What the run''s hardware costs, by whose word, and when.';
COMMENT ON COLUMN prices.run_id IS 'The run.';
COMMENT ON COLUMN prices.amount IS 'Amount of money.';
COMMENT ON COLUMN prices.currency IS 'Three-letter currency code.';
COMMENT ON COLUMN prices.per IS 'What the amount buys, such as device_hour or node_hour.';
COMMENT ON COLUMN prices.commitment IS 'Terms of the price, such as a reservation; NULL when none are stated.';
COMMENT ON COLUMN prices.source IS 'Who states the price.';
COMMENT ON COLUMN prices.as_of IS 'The day the price was taken from its source.';

CREATE TABLE metric_definitions (
    metric VARCHAR NOT NULL,
    version INTEGER NOT NULL,
    title VARCHAR NOT NULL,
    unit VARCHAR NOT NULL,
    direction VARCHAR NOT NULL,
    definition VARCHAR NOT NULL,
    inputs VARCHAR NOT NULL,
    source VARCHAR NOT NULL
);
COMMENT ON TABLE metric_definitions IS 'The registry of metrics: every version of every definition.';
COMMENT ON COLUMN metric_definitions.metric IS 'The metric''s id.';
COMMENT ON COLUMN metric_definitions.version IS 'Version: a new formula is a new version.';
COMMENT ON COLUMN metric_definitions.title IS 'Name for people.';
COMMENT ON COLUMN metric_definitions.unit IS 'Base unit of its values.';
COMMENT ON COLUMN metric_definitions.direction IS 'What is better: lower, higher or neither.';
COMMENT ON COLUMN metric_definitions.definition IS 'What it measures, in one sentence.';
COMMENT ON COLUMN metric_definitions.inputs IS 'Files of the run folder that it reads, as a JSON list.';
COMMENT ON COLUMN metric_definitions.source IS 'Where the definition comes from.';

CREATE TABLE status (
    run_id VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    "at" TIMESTAMPTZ NOT NULL,
    who VARCHAR NOT NULL,
    why VARCHAR NOT NULL,
    by_run VARCHAR,
    paths VARCHAR
);
COMMENT ON TABLE status IS 'What was said about a run after it was sealed; records are only added.';
COMMENT ON COLUMN status.run_id IS 'The run that the record is about.';
COMMENT ON COLUMN status.kind IS 'superseded, retracted, redacted or excluded.';
COMMENT ON COLUMN status."at" IS 'When it was said, UTC.';
COMMENT ON COLUMN status.who IS 'Who said it.';
COMMENT ON COLUMN status.why IS 'The reason given.';
COMMENT ON COLUMN status.by_run IS 'superseded: the run that takes its place.';
COMMENT ON COLUMN status.paths IS 'redacted: the files that may be absent, as a JSON list.';

CREATE TABLE plans (
    batch VARCHAR NOT NULL,
    benchmark VARCHAR NOT NULL,
    stack VARCHAR NOT NULL,
    role VARCHAR NOT NULL,
    repeat INTEGER NOT NULL,
    trial_key VARCHAR NOT NULL,
    launch_order INTEGER,
    state VARCHAR NOT NULL,
    reason VARCHAR,
    install VARCHAR,
    created_at TIMESTAMPTZ NOT NULL,
    workload_digest VARCHAR NOT NULL,
    profile VARCHAR,
    tuned_stack VARCHAR,
    space VARCHAR
);
COMMENT ON TABLE plans IS 'Every trial of every batch''s plan, those that were not launched too.';
COMMENT ON COLUMN plans.batch IS 'Id of the plan.';
COMMENT ON COLUMN plans.benchmark IS 'Name of the benchmark.';
COMMENT ON COLUMN plans.stack IS 'Name of the stack.';
COMMENT ON COLUMN plans.role IS 'What the trial is for.';
COMMENT ON COLUMN plans.repeat IS 'Counts from 1 within stack and role.';
COMMENT ON COLUMN plans.trial_key IS 'Identity of the trial; joins to runs.trial_key.';
COMMENT ON COLUMN plans.launch_order IS 'Planned position in the launch sequence; NULL for a trial that this batch does not launch.';
COMMENT ON COLUMN plans.state IS 'planned: this batch launches it. excluded: it does not, for a reason. settled: it had a run already.';
COMMENT ON COLUMN plans.reason IS 'Why the trial was excluded.';
COMMENT ON COLUMN plans.install IS 'The command that installs what an excluded trial lacked.';
COMMENT ON COLUMN plans.created_at IS 'When the plan was made, UTC.';
COMMENT ON COLUMN plans.workload_digest IS 'Digest of the workload as declared.';
COMMENT ON COLUMN plans.profile IS 'Named short form of the benchmark file; NULL for the full benchmark.';
COMMENT ON COLUMN plans.tuned_stack IS 'The stack whose search found the settings; NULL where no search did.';
COMMENT ON COLUMN plans.space IS 'The tuning path that a search trial is of, as searches.space; NULL for any other role.';

CREATE TABLE files (run_id VARCHAR NOT NULL, path VARCHAR NOT NULL, sha256 VARCHAR NOT NULL, bytes BIGINT);
COMMENT ON TABLE files IS 'Every file of every run folder, as its manifest states it.';
COMMENT ON COLUMN files.run_id IS 'The run.';
COMMENT ON COLUMN files.path IS 'Path within the run folder.';
COMMENT ON COLUMN files.sha256 IS 'Digest of the file''s bytes, as sealed.';
COMMENT ON COLUMN files.bytes IS 'Size of the file; NULL when it is not there.';

CREATE TABLE trace_integrity (
    run_id VARCHAR NOT NULL,
    file VARCHAR,
    rank INTEGER,
    events BIGINT,
    timed BIGINT,
    usable BOOLEAN NOT NULL,
    code VARCHAR,
    count BIGINT,
    finding VARCHAR,
    gates BOOLEAN
);
COMMENT ON TABLE trace_integrity IS 'What is wrong with each trace, one row a finding; a trace with nothing wrong has one row without a finding. The traces are read when a query first names this table.';
COMMENT ON COLUMN trace_integrity.run_id IS 'The run.';
COMMENT ON COLUMN trace_integrity.file IS 'Path of the trace within the run folder; NULL for a finding about the ranks together.';
COMMENT ON COLUMN trace_integrity.rank IS 'The trace''s rank; NULL where neither the trace nor its name tells.';
COMMENT ON COLUMN trace_integrity.events IS 'Entries read from the file; NULL when it could not be read.';
COMMENT ON COLUMN trace_integrity.timed IS 'Of these, events with a duration.';
COMMENT ON COLUMN trace_integrity.usable IS 'Whether the trace can carry an explanation: no finding about it gates.';
COMMENT ON COLUMN trace_integrity.code IS 'Which rule the finding comes from; NULL where nothing is wrong.';
COMMENT ON COLUMN trace_integrity.count IS 'How often it was found.';
COMMENT ON COLUMN trace_integrity.finding IS 'The finding in a sentence.';
COMMENT ON COLUMN trace_integrity.gates IS 'Whether the finding keeps the trace from carrying an explanation.';

CREATE TABLE trace_libraries (
    run_id VARCHAR NOT NULL,
    file VARCHAR NOT NULL,
    rank INTEGER,
    library VARCHAR,
    events BIGINT,
    duration_ns BIGINT,
    example VARCHAR
);
COMMENT ON TABLE trace_libraries IS 'Which libraries ran, by the names in each trace, one row a library; a readable trace whose names tell none has one row without one. The traces are read when a query first names this table.';
COMMENT ON COLUMN trace_libraries.run_id IS 'The run.';
COMMENT ON COLUMN trace_libraries.file IS 'Path of the trace within the run folder.';
COMMENT ON COLUMN trace_libraries.rank IS 'The trace''s rank; NULL where neither the trace nor its name tells.';
COMMENT ON COLUMN trace_libraries.library IS 'nccl, inductor, flash_attention and so on, as `observe` of a stack names them; NULL where no name tells any.';
COMMENT ON COLUMN trace_libraries.events IS 'Kernels, operators and annotations with names of the library.';
COMMENT ON COLUMN trace_libraries.duration_ns IS 'Sum of their durations; operators that call each other count twice.';
COMMENT ON COLUMN trace_libraries.example IS 'The name that most of them have.';

CREATE TABLE collectives (
    run_id VARCHAR NOT NULL,
    rank INTEGER,
    step BIGINT,
    in_steps BOOLEAN NOT NULL,
    operation VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    "group" VARCHAR,
    group_size BIGINT,
    sequence BIGINT,
    dtype VARCHAR,
    bytes BIGINT,
    start_ns BIGINT NOT NULL,
    duration_ns BIGINT NOT NULL,
    peer_wait_ns BIGINT,
    transfer_ns BIGINT,
    algorithm_bandwidth DOUBLE,
    bus_bandwidth DOUBLE,
    last_rank INTEGER
);
COMMENT ON TABLE collectives IS 'Every collective in the traces, one row a rank. The traces are read when a query first names this table.';
COMMENT ON COLUMN collectives.run_id IS 'The run.';
COMMENT ON COLUMN collectives.rank IS 'The rank; NULL where neither the trace nor its name tells.';
COMMENT ON COLUMN collectives.step IS 'Number of the profiled step that called it; NULL outside of steps, or where they are not told apart.';
COMMENT ON COLUMN collectives.in_steps IS 'Whether a profiled step called it.';
COMMENT ON COLUMN collectives.operation IS 'all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, send_recv, and so on.';
COMMENT ON COLUMN collectives.name IS 'Name of the kernel, or of the event on the host.';
COMMENT ON COLUMN collectives."group" IS 'Name of the process group; NULL where it is not recorded.';
COMMENT ON COLUMN collectives.group_size IS 'Ranks in the group.';
COMMENT ON COLUMN collectives.sequence IS 'Number of the collective within its group; NULL where it is not recorded.';
COMMENT ON COLUMN collectives.dtype IS 'Data type of the elements, as the profiler spells it.';
COMMENT ON COLUMN collectives.bytes IS 'Size of the full buffer: the output of an all_gather, the input of the others; NULL where it is not recorded.';
COMMENT ON COLUMN collectives.start_ns IS 'Start in nanoseconds of the trace''s clock.';
COMMENT ON COLUMN collectives.duration_ns IS 'Duration in nanoseconds, waiting for other ranks included.';
COMMENT ON COLUMN collectives.peer_wait_ns IS 'Nanoseconds until the last rank of the group arrived; NULL unless all of its ranks have a trace.';
COMMENT ON COLUMN collectives.transfer_ns IS 'The rest of the duration; NULL as peer_wait_ns.';
COMMENT ON COLUMN collectives.algorithm_bandwidth IS 'Bytes a second of transfer.';
COMMENT ON COLUMN collectives.bus_bandwidth IS 'Bytes a second that each rank''s link carried, as nccl-tests counts them.';
COMMENT ON COLUMN collectives.last_rank IS 'The rank of the group that arrived last, for which the others waited; NULL as peer_wait_ns.';

CREATE TABLE shortlist (
    collection VARCHAR NOT NULL,
    source VARCHAR NOT NULL,
    row_id VARCHAR NOT NULL,
    title VARCHAR NOT NULL,
    label VARCHAR NOT NULL,
    state VARCHAR NOT NULL,
    failure VARCHAR,
    kind VARCHAR,
    phase VARCHAR,
    model VARCHAR,
    precision VARCHAR,
    dataset VARCHAR,
    batch_size BIGINT,
    batch_size_scope VARCHAR,
    sequence_length BIGINT,
    input_length BIGINT,
    output_length BIGINT,
    concurrency BIGINT,
    samples_per_step BIGINT,
    tokens_per_step BIGINT,
    parallelism VARCHAR,
    vendor VARCHAR,
    device VARCHAR,
    device_class VARCHAR,
    devices BIGINT,
    framework VARCHAR,
    framework_version VARCHAR,
    settings VARCHAR,
    workload VARCHAR,
    hardware VARCHAR,
    shows_quality VARCHAR,
    shows_cost VARCHAR,
    shows_repeats VARCHAR,
    shows_work_per_step VARCHAR,
    shows_trace VARCHAR,
    shows_requests VARCHAR,
    cannot_show VARCHAR NOT NULL,
    problems VARCHAR NOT NULL
);
COMMENT ON TABLE shortlist IS 'Configurations that others have published, as `stackproof import` took them over: public, not verified here.';
COMMENT ON COLUMN shortlist.collection IS 'Digest of the imported collection: its file is public/<source>/<collection>.json.';
COMMENT ON COLUMN shortlist.source IS 'Who published it, such as ccl-bench.';
COMMENT ON COLUMN shortlist.row_id IS 'Name of the row, unique within its collection.';
COMMENT ON COLUMN shortlist.title IS 'Name for people.';
COMMENT ON COLUMN shortlist.label IS 'Always `public, not verified here`.';
COMMENT ON COLUMN shortlist.state IS 'completed, failed, or described: the source holds no result of it.';
COMMENT ON COLUMN shortlist.failure IS 'What the source says of a failure.';
COMMENT ON COLUMN shortlist.kind IS 'train or serve.';
COMMENT ON COLUMN shortlist.phase IS 'The source''s own word for the kind.';
COMMENT ON COLUMN shortlist.model IS 'The model, as the source names it.';
COMMENT ON COLUMN shortlist.precision IS 'Number format of the weights or of the computation.';
COMMENT ON COLUMN shortlist.dataset IS 'The data, as the source names it.';
COMMENT ON COLUMN shortlist.batch_size IS 'Batch as the source states it; batch_size_scope tells of what.';
COMMENT ON COLUMN shortlist.batch_size_scope IS 'global or per_replica; NULL where the source does not tell.';
COMMENT ON COLUMN shortlist.sequence_length IS 'Tokens of a sequence.';
COMMENT ON COLUMN shortlist.input_length IS 'Tokens of a prompt.';
COMMENT ON COLUMN shortlist.output_length IS 'Tokens of an answer.';
COMMENT ON COLUMN shortlist.concurrency IS 'Requests in flight at most.';
COMMENT ON COLUMN shortlist.samples_per_step IS 'Sequences that one step does; NULL where it is unknown.';
COMMENT ON COLUMN shortlist.tokens_per_step IS 'Tokens that one step does; NULL where it is unknown.';
COMMENT ON COLUMN shortlist.parallelism IS 'Degrees of parallelism, as a JSON object.';
COMMENT ON COLUMN shortlist.vendor IS 'Who makes the devices.';
COMMENT ON COLUMN shortlist.device IS 'The devices.';
COMMENT ON COLUMN shortlist.device_class IS 'data centre or workstation.';
COMMENT ON COLUMN shortlist.devices IS 'How many devices.';
COMMENT ON COLUMN shortlist.framework IS 'The framework or engine.';
COMMENT ON COLUMN shortlist.framework_version IS 'Its version.';
COMMENT ON COLUMN shortlist.settings IS 'What else was set, as a JSON object.';
COMMENT ON COLUMN shortlist.workload IS 'Everything known of the workload, as a JSON object.';
COMMENT ON COLUMN shortlist.hardware IS 'Everything known of the hardware, as a JSON object; bandwidths in bytes a second.';
COMMENT ON COLUMN shortlist.shows_quality IS 'What the row shows of quality; NULL: nothing.';
COMMENT ON COLUMN shortlist.shows_cost IS 'What it shows of cost; NULL: nothing.';
COMMENT ON COLUMN shortlist.shows_repeats IS 'What it shows of repeats; NULL: nothing.';
COMMENT ON COLUMN shortlist.shows_work_per_step IS 'What it shows of the work in a step; NULL: nothing.';
COMMENT ON COLUMN shortlist.shows_trace IS 'Which trace it has; NULL: none.';
COMMENT ON COLUMN shortlist.shows_requests IS 'What it shows of single requests; NULL: nothing.';
COMMENT ON COLUMN shortlist.cannot_show IS 'Why it cannot show the rest, as a JSON object.';
COMMENT ON COLUMN shortlist.problems IS 'What a reader must know, as a JSON list of {code, what}.';

CREATE TABLE shortlist_metrics (
    collection VARCHAR NOT NULL,
    source VARCHAR NOT NULL,
    row_id VARCHAR NOT NULL,
    metric VARCHAR NOT NULL,
    unit VARCHAR NOT NULL,
    value DOUBLE,
    missing_reason VARCHAR,
    source_name VARCHAR NOT NULL,
    definition VARCHAR NOT NULL,
    note VARCHAR,
    label VARCHAR NOT NULL
);
COMMENT ON TABLE shortlist_metrics IS 'What others have published about those configurations, one row a value: public, not verified here.';
COMMENT ON COLUMN shortlist_metrics.collection IS 'The imported collection; joins to shortlist with row_id.';
COMMENT ON COLUMN shortlist_metrics.source IS 'Who published it.';
COMMENT ON COLUMN shortlist_metrics.row_id IS 'The row.';
COMMENT ON COLUMN shortlist_metrics.metric IS 'The metric''s id where the definition is stackproof''s; NAME@SOURCE where it is the source''s own.';
COMMENT ON COLUMN shortlist_metrics.unit IS 'Base unit of the value.';
COMMENT ON COLUMN shortlist_metrics.value IS 'The value; NULL when there is none.';
COMMENT ON COLUMN shortlist_metrics.missing_reason IS 'Why there is no value.';
COMMENT ON COLUMN shortlist_metrics.source_name IS 'What the source calls the metric.';
COMMENT ON COLUMN shortlist_metrics.definition IS 'What the source says it is.';
COMMENT ON COLUMN shortlist_metrics.note IS 'Where stackproof''s definition differs, or what is wrong with theirs.';
COMMENT ON COLUMN shortlist_metrics.label IS 'Always `public, not verified here`.';
