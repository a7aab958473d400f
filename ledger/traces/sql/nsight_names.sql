-- Strings by their ids.
SELECT id, value FROM StringIds WHERE id IN (SELECT value FROM json_each(:ids))
