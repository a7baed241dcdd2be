"""How sqlglot reads a script on stdin as Spark SQL: its statements, and those that it could not make sense of."""

import json
import sys

import sqlglot
from sqlglot import exp

parsed = [statement for statement in sqlglot.parse(sys.stdin.read(), read="spark") if statement is not None]
print(
    json.dumps(
        {
            "statements": [type(statement).__name__ for statement in parsed],
            "commands": sum(1 for statement in parsed for _ in statement.find_all(exp.Command)),
            "paths": [literal.this for statement in parsed for literal in statement.find_all(exp.Literal) if "://" in literal.this],
        }
    )
)
