-- How many pieces of work one process launched on one device, and their nanoseconds.
SELECT count(*), total("end" - start) FROM device_work WHERE process IS :process AND device IS :device
