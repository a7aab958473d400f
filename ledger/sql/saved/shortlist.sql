-- title: Public results of others (not verified here), and what they cannot show
SELECT source, row_id, state, model, device, devices, framework, samples_per_step, tokens_per_step,
       coalesce(shows_work_per_step, 'unknown') AS work_per_step,
       len(from_json(problems, '["JSON"]')) AS problems
FROM shortlist
ORDER BY source, row_id;
