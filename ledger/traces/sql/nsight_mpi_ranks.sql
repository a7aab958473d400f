-- MPI ranks of a process.
SELECT DISTINCT rank FROM MPI_RANKS WHERE :process IS NULL OR (globalTid >> 24) & 16777215 = :process
