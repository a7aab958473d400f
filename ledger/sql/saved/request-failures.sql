-- title: Requests and attempts that failed or were not accepted, by stack and reason
SELECT
    runs.benchmark,
    runs.profile,
    runs.stack,
    CASE WHEN requests.error IS NOT NULL THEN 'error' ELSE 'not accepted' END AS outcome,
    coalesce(requests.error, requests.why) AS reason,
    count(*) AS requests,
    count(DISTINCT requests.item) AS items
FROM requests
JOIN usable_runs AS runs USING (run_id)
WHERE runs.role = 'timed' AND requests.phase = 'measured'
  AND (requests.error IS NOT NULL OR NOT requests.accepted)
GROUP BY ALL
ORDER BY benchmark, profile, stack, requests DESC, reason;
