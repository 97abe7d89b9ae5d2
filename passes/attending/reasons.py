"""What keeps a softmax between two products from becoming one op with them: who else reads, or does more."""

from __future__ import annotations

from mlir import ir

from ..operations import defining_op
from ..raising.bodies import is_contraction
from ..raising.reshape import RESHAPES
from ..structured import has_one_use, inputs_of, word_for
from .between import is_from_product, keeps_last
from .guards import is_arithmetic, is_identity
from .products import is_plain_product, why_not_scores


def why_no_product(scores: ir.Value) -> str:
    """What stands between the scores and a product that attention could make, the last thing first."""
    op = defining_op(scores)
    if op is None:
        return "its scores are given"
    if is_contraction(op):
        return f"its scores are of {word_for(op)}, {why_not_scores(op)}"
    if op.name in RESHAPES and not keeps_last(op):
        return "a reshape of its scores changes the length of their rows"
    if op.name not in RESHAPES and not is_arithmetic(op):
        return f"{word_for(op)} makes its scores, neither element by element nor as a product"
    read = [op.operands[0]] if op.name in RESHAPES else inputs_of(op)
    straight = [value for number, value in enumerate(read) if op.name in RESHAPES or is_identity(op, number)]
    behind = [value for value in straight if is_from_product(value)]
    if not behind:
        return f"{word_for(op)} reads its scores moved: transposed, broadcast or in part"
    if not has_one_use(behind[0]):
        return f"the scores that {word_for(op)} reads are read by others, too"
    return why_no_product(behind[0])


def why_no_weights(less: ir.Operation, exp: ir.Operation, total: ir.Operation) -> str:
    """What else is done with what one op each should read on the way to the weights."""
    if has_one_use(exp.results[0]):
        return "more is done with its log_softmax than to take the exp of it"
    if not has_one_use(less.results[0]):
        return f"its scores less the greatest are read by {named(less.results[0], exp)}, too"
    return f"its weights are read by {named(exp.results[0], total)} before they are divided"


def why_no_path(reader: ir.Operation) -> str:
    """What ``reader`` does to the weights before the second product."""
    if reader.name in RESHAPES:
        return "a reshape of its weights changes the length of their rows"
    who = "the caller" if reader.name == "func.return" else word_for(reader)
    return f"{who} reads its weights before the second product: they may only be divided, cast and reshaped"


def why_no_sums(product: ir.Operation, weights: ir.Value) -> str:
    """Why ``product``, which reads the weights, does not add up values by them."""
    word = word_for(product)
    if product.operands[0] != weights:
        return f"its weights are the second factor of {word}"
    if not is_plain_product(product):
        return f"the second product is {word}, {why_not_scores(product)}"
    return f"{word} reads its weights transposed, or adds up something else than values along the keys"


def named(value: ir.Value, *known: ir.Operation) -> str:
    """What reads ``value`` beside ``known``."""
    readers = (use.owner.operation for use in value.uses)
    others = [reader for reader in readers if reader not in known]
    others.sort(key=lambda each: each.name == "func.return")
    *first, last = dict.fromkeys(
        "the caller" if each.name == "func.return" else word_for(each) for each in others
    )
    return f"{', '.join(first)} and {last}" if first else last
