-- All work of devices, whoever launched it.
CREATE TEMP VIEW device_work AS
SELECT (globalPid >> 24) & 16777215 AS process, deviceId AS device, start, "end" FROM CUPTI_ACTIVITY_KIND_KERNEL
UNION ALL
SELECT (globalPid >> 24) & 16777215, deviceId, start, "end" FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE
UNION ALL
SELECT (globalPid >> 24) & 16777215, deviceId, start, "end" FROM CUPTI_ACTIVITY_KIND_MEMCPY
UNION ALL
SELECT (globalPid >> 24) & 16777215, deviceId, start, "end" FROM CUPTI_ACTIVITY_KIND_MEMSET
