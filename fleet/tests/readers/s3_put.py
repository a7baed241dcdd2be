"""Puts the segments of a folder into `s3://bucket/fdtide`, which it makes."""

import os
import pathlib
import sys

import boto3

folder = pathlib.Path(sys.argv[1])
s3 = boto3.client("s3", endpoint_url=os.environ["AWS_ENDPOINT_URL"])
s3.create_bucket(Bucket="bucket")
for path in folder.rglob("*.parquet"):
    s3.put_object(Bucket="bucket", Key=f"fdtide/{path.relative_to(folder)}", Body=path.read_bytes())
