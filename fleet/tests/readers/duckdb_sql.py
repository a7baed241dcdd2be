"""What DuckDB answers to a script on stdin: the rows of its last statement."""

import datetime
import json
import sys

import duckdb

connection = duckdb.connect()
# An answer must not depend on where it is asked.
connection.execute("set timezone = 'Asia/Kolkata'")
statements = duckdb.extract_statements(sys.stdin.read())
for statement in statements:
    result = connection.execute(statement)
names = [column[0] for column in result.description]


def cell(value):
    if isinstance(value, datetime.datetime):
        value = value.astimezone(datetime.timezone.utc)
        return value.strftime("%Y-%m-%dT%H:%M:%S.") + f"{value.microsecond // 1000:03d}Z"
    return value


print(json.dumps([dict(zip(names, map(cell, row))) for row in result.fetchall()]))
