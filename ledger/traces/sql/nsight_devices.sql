-- Properties of the devices, by Nsight Systems' own names.
SELECT id, name, totalMemory, smCount, memoryBandwidth, computeMajor, computeMinor FROM TARGET_INFO_GPU ORDER BY id
