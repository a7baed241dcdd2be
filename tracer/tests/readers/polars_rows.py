"""What polars reads from a recording, or from its Parquet export."""

import json
import sys

import polars

path = sys.argv[1]
rows = polars.read_parquet(path) if path.endswith(".parquet") else polars.read_ipc_stream(path)
types = rows.group_by(polars.col("type").cast(str)).len()
print(
    json.dumps(
        {
            "rows": rows.height,
            "columns": rows.columns,
            "types": dict(types.iter_rows()),
            "last_ns": rows["boot_ns"].max(),
            "last_live": [row for row in rows.filter(polars.col("live").is_not_null())["live"].to_list()][-1:],
            "time": str(rows.schema["time"]),
            "high": rows["window_high_water"].max(),
        }
    )
)
