"""What junitparser reads from JUnit XML: counts as the document states them and as its cases add up."""

import json
import sys

from junitparser import Error, Failure, JUnitXml

KINDS = {Failure: "failure", Error: "error"}


def case(test):
    results = [{"kind": KINDS[type(r)], "type": r.type, "message": r.message, "text": r.text} for r in test.result]
    return {"name": test.name, "classname": test.classname, "results": results, "out": test.system_out}


xml = JUnitXml.fromfile(sys.argv[1])
stated = {"tests": xml.tests, "failures": xml.failures, "errors": xml.errors}
suites = [
    {
        "name": suite.name,
        "stated": {"tests": suite.tests, "failures": suite.failures, "errors": suite.errors, "skipped": suite.skipped},
        "cases": [case(test) for test in suite],
    }
    for suite in xml
]
xml.update_statistics()
counted = {"tests": xml.tests, "failures": xml.failures, "errors": xml.errors}
print(json.dumps({"stated": stated, "counted": counted, "suites": suites}))
