from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vir_core.text import identifier_tokens
from vir_core.text.tokens import _tokens


@given(st.text(alphabet="aAbB1é连 ._-/\\:@+#$~(),;!?'\"\n<>=*`"))
def test_what_is_remembered_is_what_would_be_made(text: str) -> None:
    assert identifier_tokens(text) == list(_tokens(text, plain=False))
    assert identifier_tokens(text) == identifier_tokens(text)
