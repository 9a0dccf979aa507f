"""The JSON document: valid, complete, safe to print."""

from __future__ import annotations

import io
import json
import unicodedata

import pytest
from jsonschema import Draft202012Validator
from report_samples import HOSTILE, alloc, samples

from stallscope import schema
from stallscope.model.analysis import Analysis
from stallscope.reporters.json import JsonReporter
from stallscope.schema import generate

# An unpaired surrogate has no UTF-8 form; readers replace it before it gets into a document.
UNENCODABLE = {"hostile"}
PRINTABLE = sorted(samples().keys() - UNENCODABLE)


def rendered(analysis: Analysis) -> str:
    out = io.StringIO()
    JsonReporter().render(analysis, out)
    return out.getvalue()


def hostile() -> Analysis:
    text = "".join(HOSTILE.values()).replace("\ud800", "") + "\x7f\x85\u2028\ufeff"
    return Analysis.from_json(alloc().to_json().replace("touch", json.dumps(text)[1:-1]))


@pytest.mark.parametrize("name", PRINTABLE)
def test_document_validates_against_the_shipped_schema(name: str) -> None:
    Draft202012Validator(json.loads(schema.text())).validate(json.loads(rendered(samples()[name])))


def test_schema_is_a_schema_and_refuses_a_wrong_document() -> None:
    shipped = json.loads(schema.text())
    Draft202012Validator.check_schema(shipped)
    wrong = json.loads(rendered(alloc()))
    wrong["findings"][0]["wait_ns"] = "12 ms"
    del wrong["devices"]
    assert len(list(Draft202012Validator(shipped).iter_errors(wrong))) == 2


def test_shipped_schema_is_the_generated_one() -> None:
    assert schema.text() == generate.text(), "run `make schema`"


@pytest.mark.parametrize("name", PRINTABLE)
def test_document_reads_back_as_the_same_analysis(name: str) -> None:
    assert Analysis.from_json(rendered(samples()[name])) == samples()[name]


def test_names_stay_complete_but_cannot_act_on_a_terminal() -> None:
    document = rendered(hostile())
    assert not {c for c in document.replace("\n", "") if unicodedata.category(c) in {"Cc", "Cf", "Zl", "Zp"}}
    assert Analysis.from_json(document) == hostile()
