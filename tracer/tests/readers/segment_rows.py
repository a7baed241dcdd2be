"""What polars and boto3 find of segments below a folder or an S3 prefix; `make:NAME` makes a bucket instead."""

import io
import json
import os
import pathlib
import sys

import polars

place = sys.argv[1]


def client():
    import boto3

    return boto3.client("s3", endpoint_url=os.environ["AWS_ENDPOINT_URL"])


def bodies():
    if not place.startswith("s3://"):
        return [path.read_bytes() for path in sorted(pathlib.Path(place).rglob("*.parquet"))]
    bucket, prefix = place.removeprefix("s3://").split("/", 1)
    s3 = client()
    listed = s3.list_objects_v2(Bucket=bucket, Prefix=prefix).get("Contents", [])
    return [s3.get_object(Bucket=bucket, Key=one["Key"])["Body"].read() for one in listed]


if place.startswith("make:"):
    client().create_bucket(Bucket=place.removeprefix("make:"))
    print(json.dumps({"made": place.removeprefix("make:")}))
    sys.exit()

rows = polars.concat([polars.read_parquet(io.BytesIO(body)) for body in bodies()])
execs = rows.filter((polars.col("type") == "exec") & (polars.col("seq") > 0))
by = execs.group_by("program").agg(polars.len(), polars.col("window_high_water").max()).iter_rows()
by = list(by)
keys = execs.select("boot_id", "trace", "seq")
print(
    json.dumps(
        {
            "rows": rows.height,
            "execs": {program: count for program, count, _ in by},
            "high_water": {program: high for program, _, high in by},
            "marks": rows.filter(polars.col("type") == "mark")["mark"].to_list(),
            "tables": rows.filter(polars.col("type") == "table").height,
            "hosts": rows["host"].unique().to_list(),
            "doubled": keys.height - keys.unique().height,
        }
    )
)
