-- Every process with every device that it launched work on.
SELECT DISTINCT process, device FROM device_work
