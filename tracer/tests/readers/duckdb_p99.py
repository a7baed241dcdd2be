"""p99 of the high-water per exec, by spawner and program, over Parquet files of several hosts."""

import json
import sys

import duckdb

rows = duckdb.execute(
    """
    select spawner, program, count(*), quantile_disc(window_high_water, 0.99), max(window_high_water),
           count(distinct host)
    from read_parquet($1) where type = 'exec' and seq > 0 and window_high_water is not null
    group by spawner, program order by spawner, program
    """,
    [sys.argv[1:]],
).fetchall()
names = ["spawner", "program", "count", "p99", "max", "hosts"]
print(json.dumps([dict(zip(names, row)) for row in rows]))
