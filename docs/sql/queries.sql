-- Questions to tables as docs/tables.md describes them and `stallscope ranks --out` writes them.
-- One text for DuckDB, Polars SQL and Spark SQL: nothing that only one of them understands. Each query stands alone.
-- Views are needed for the tables it names; runs.md beside this file makes them. Times in the tables are ns.
-- Where two runs are compared they are called `before` and `after`.

-- Q1 Who comes late to collectives, how often, and what it costs the job
SELECT run, late_rank, COUNT(*) AS times, SUM(cost) / 1e6 AS cost_ms, SUM(cost) / 1e6 / COUNT(*) AS ms_each
FROM arrivals
WHERE late_rank IS NOT NULL AND step > 0
GROUP BY run, late_rank
ORDER BY cost_ms DESC, late_rank
LIMIT 5;

-- Q2 The steps that are furthest above the median step of their run
WITH job AS (
    SELECT run, number, MAX(cycle) AS longest FROM steps WHERE judged GROUP BY run, number
), middle AS (
    SELECT run, MEDIAN(longest) AS ns FROM job GROUP BY run
)
SELECT job.run, job.number, job.longest / 1e6 AS step_ms, middle.ns / 1e6 AS median_ms
FROM job JOIN middle ON job.run = middle.run
ORDER BY job.longest - middle.ns DESC, job.number
LIMIT 3;

-- Q3 Why the costliest late rank was late: the parts of that step against the rank's own median step
WITH worst AS (
    SELECT run, step, late_rank
    FROM arrivals
    WHERE run = 'before' AND late_rank IS NOT NULL AND step > 0
    ORDER BY cost DESC
    LIMIT 1
), own AS (
    SELECT s.step, s.part_compute, s.part_wait_exposed, s.part_gc, s.part_checkpoint, s.part_host, s.part_sync,
           worst.step AS worst_step, worst.late_rank
    FROM steps s JOIN worst ON s.run = worst.run AND s.rank = worst.late_rank
    WHERE s.judged
), middle AS (
    SELECT MEDIAN(part_compute) AS compute, MEDIAN(part_wait_exposed) AS wait, MEDIAN(part_gc) AS gc,
           MEDIAN(part_checkpoint) AS checkpoint, MEDIAN(part_host) AS host, MEDIAN(part_sync) AS sync
    FROM own
)
SELECT own.late_rank, own.step,
       (own.part_compute - middle.compute) / 1e6 AS compute_ms, (own.part_wait_exposed - middle.wait) / 1e6 AS wait_ms,
       (own.part_gc - middle.gc) / 1e6 AS gc_ms, (own.part_checkpoint - middle.checkpoint) / 1e6 AS checkpoint_ms,
       (own.part_host - middle.host) / 1e6 AS host_ms, (own.part_sync - middle.sync) / 1e6 AS sync_ms
FROM own CROSS JOIN middle
WHERE own.step = own.worst_step;

-- Q4 Which hosts load slowly: wait beside an idle GPU per step
SELECT s.run, r.host, SUM(s.wait_exposed) / 1e6 / COUNT(*) AS exposed_ms, SUM(s.wait) / 1e6 / COUNT(*) AS wait_ms,
       COUNT(DISTINCT s.rank) AS ranks
FROM steps s JOIN ranks r ON s.run = r.run AND s.rank = r.rank
WHERE s.judged
GROUP BY s.run, r.host
ORDER BY exposed_ms DESC, r.host
LIMIT 5;

-- Q5 Where the mean step went between two runs: with all parts of a step it adds up
WITH means AS (
    SELECT run, SUM(cycle) * 1.0 / COUNT(*) AS step, SUM(part_compute) * 1.0 / COUNT(*) AS compute,
           SUM(part_comm) * 1.0 / COUNT(*) AS comm, SUM(part_h2d) * 1.0 / COUNT(*) AS h2d,
           SUM(part_wait_exposed) * 1.0 / COUNT(*) AS wait, SUM(part_gc) * 1.0 / COUNT(*) AS gc,
           SUM(part_host) * 1.0 / COUNT(*) AS host
    FROM steps
    WHERE judged
    GROUP BY run
)
SELECT (a.step - b.step) / 1e6 AS step_ms, (a.compute - b.compute) / 1e6 AS compute_ms, (a.comm - b.comm) / 1e6 AS comm_ms,
       (a.h2d - b.h2d) / 1e6 AS h2d_ms, (a.wait - b.wait) / 1e6 AS wait_ms, (a.gc - b.gc) / 1e6 AS gc_ms,
       (a.host - b.host) / 1e6 AS host_ms
FROM means a CROSS JOIN means b
WHERE a.run = 'after' AND b.run = 'before';

-- Q6 The ranks whose compute became slowest between two runs
WITH middle AS (
    SELECT run, rank, MEDIAN(part_compute) AS ns FROM steps WHERE judged GROUP BY run, rank
)
SELECT a.rank, b.ns / 1e6 AS before_ms, a.ns / 1e6 AS after_ms, (a.ns - b.ns) / 1e6 AS change_ms
FROM middle a JOIN middle b ON a.rank = b.rank
WHERE a.run = 'after' AND b.run = 'before'
ORDER BY change_ms DESC, a.rank
LIMIT 3;

-- Q7 The kernels whose time per rank and judged step changed most between two runs
WITH judged AS (
    SELECT run, SUM(judged) AS steps FROM ranks GROUP BY run
), sums AS (
    SELECT run, name, SUM(sum) AS ns FROM kernels GROUP BY run, name
), sides AS (
    SELECT sums.name,
           SUM(CASE WHEN sums.run = 'before' THEN sums.ns * 1.0 / judged.steps ELSE 0 END) AS b,
           SUM(CASE WHEN sums.run = 'after' THEN sums.ns * 1.0 / judged.steps ELSE 0 END) AS a
    FROM sums JOIN judged ON sums.run = judged.run
    GROUP BY sums.name
)
SELECT name, b / 1e6 AS before_ms, a / 1e6 AS after_ms, (a - b) / 1e6 AS change_ms,
       CASE WHEN b = 0 THEN 'new' WHEN a = 0 THEN 'gone' ELSE 'both' END AS state
FROM sides
ORDER BY ABS(a - b) DESC, name
LIMIT 4;

-- Q8 Whether collectives take long because they wait for a late rank, or because they transfer
SELECT run, pg, kind, COUNT(*) AS n, SUM(wait) / 1e6 / COUNT(*) AS waiting_ms, SUM(dur - wait) / 1e6 / COUNT(*) AS transfer_ms
FROM collectives
WHERE wait IS NOT NULL AND step > 0
GROUP BY run, pg, kind
ORDER BY run, pg, kind;

-- Q9 Whether it is always the same rank that comes late, or another one each time
WITH costs AS (
    SELECT run, late_rank, SUM(cost) AS cost FROM arrivals WHERE late_rank IS NOT NULL AND step > 0 GROUP BY run, late_rank
), totals AS (
    SELECT run, SUM(cost) AS cost, COUNT(*) AS ranks FROM costs GROUP BY run
), tops AS (
    SELECT run, MAX(cost) AS cost FROM costs GROUP BY run
)
SELECT totals.run, totals.ranks, tops.cost * 100.0 / totals.cost AS top_percent,
       CASE WHEN tops.cost * 10 >= totals.cost * 8 THEN 'persistent'
            WHEN tops.cost * 2 < totals.cost THEN 'wandering' ELSE 'mixed' END AS pattern
FROM totals JOIN tops ON totals.run = tops.run
ORDER BY totals.run;
