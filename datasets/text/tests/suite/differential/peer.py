"""Random texts, questions and logits, with what transformers makes of them, for `main.rs`.

    python3 peer.py FOLDER SEED DIVISOR

writes FOLDER/vocab.txt, FOLDER/tokenizer.json and FOLDER/cases.jsonl, with one case in DIVISOR. Exits with 3 where a package is missing.
"""

import json
import pathlib
import random
import sys
import unicodedata

# Where it is there transformers loads it, which takes longer than all else, for scores that are not asked for here.
sys.modules["sklearn"] = None

try:
    import tokenizers
    from transformers.data.metrics.squad_metrics import get_final_text
    from transformers.data.processors import squad
    from transformers.models.bert.tokenization_bert import BasicTokenizer, BertTokenizer
    from transformers.utils import logging
except ImportError as error:
    print(f"no Python package: {error}")
    sys.exit(3)

TOKEN_COUNT = 30522
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
# Rows, questions, stride.
SQUAD = (384, 64, 128)
SMALL = (24, 6, 7)
PADDING = -10000.0

WORDS = """the of and in to was is for as with by who what where when how many did first year city river king Steve
Smith's 1895 $1,000 (1895-1943). U.S. Ph.D. rock'n'roll café naïve Ångström Żółć Dvořák "quoted" e.g., x² ½ No.5""".split()
# Words in which a tokenizer may go wrong.
ODD = [
    "e\u0301", "\u0301", "A\u030a", "\u1e9b\u0323", "ﬁ", "ǅ", "İstanbul", "IΣ", "ΟΔΟΣ", "ΑΣ.Β", "Σ", "ς", "ß", "ẞ", "ı",
    "中国", "東京都", "\uf900", "\u3400", "\U00020000x", "ひらがな", "ガ", "한국어", "\u1112\u1161\u11ab", "हिन्दी", "ไทย",
    "العربية", "עִבְרִית", "🙂", "👩\u200d💻", "a\u200bb", "\ufeff", "\u00ad", "\x00", "\x01", "\x1c", "\x7f", "\x85", "\ufffd",
    "\ue000", "\ufffe", "\U000e0001", "«a»", "“b”", "—", "…", "、", "。", "¡a!", "`^~|", "+=<>", "#", "##", "##a", "a##b",
    "[SEP]", "[CLS]a", "x[MASK]", "[UNK].", "[PAD][PAD]", "[sep]", "[", "]", "[[SEP]]", "\u212a", "\u2126", "\u037e",
    "a" * 100, "a" * 101, "é" * 101, "@-@", "http://a.b/c?d=e&f", "\u1734", "\u0345\u0391",
]
SPACES = [" ", " ", " ", " ", "  ", "\t", "\n", "\r\n", "\u00a0", "\u202f", "\u2009", "\u3000", "\u2028", "\u2029", ""]

# The one character that some versions of Python take for an accent: Unicode 16 has changed its category.
CHANGED = "\U0001171e"
# Without private ones, of which some words above have one.
ASSIGNED = [chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) not in ("Cn", "Co", "Cs")]
ASSIGNED.remove(CHANGED)


def word(rng):
    kind = rng.random()
    if kind < 0.55:
        return rng.choice(WORDS)
    if kind < 0.8:
        return rng.choice(ODD)
    if kind < 0.9:
        return "".join(rng.choice(WORDS + ODD[:30]) for _ in range(2))
    return "".join(rng.choice(ASSIGNED) for _ in range(rng.randrange(1, 5)))


def text(rng, word_count, spaces=SPACES):
    return "".join(word(rng) + rng.choice(spaces) for _ in range(word_count))


def write_vocabulary(folder, rng):
    """Specials, single characters, and pieces of the words above, so that most words can be cut."""
    basic = BasicTokenizer(do_lower_case=True)
    pieces = set()
    for token in basic.tokenize(" ".join(WORDS + ODD)):
        for start in range(len(token)):
            for end in range(start + 1, min(len(token), start + 6) + 1):
                if end == start + 1 or rng.random() < 0.4:
                    pieces.add(("##" if start else "") + token[start:end])
    for code in range(33, 127):
        pieces.update([chr(code).lower(), "##" + chr(code).lower()])
    pieces = sorted(pieces - set(SPECIAL))
    # As with the published vocabulary, the special tokens are not at its start.
    unused = [f"[unused{number}]" for number in range(TOKEN_COUNT - len(SPECIAL) - len(pieces))]
    tokens = [SPECIAL[0]] + unused[:99] + SPECIAL[1:] + pieces + unused[99:]
    assert len(tokens) == TOKEN_COUNT == len(set(tokens))
    path = folder / "vocab.txt"
    path.write_text("".join(token + "\n" for token in tokens), encoding="utf-8", newline="\n")
    ids = {token: number for number, token in enumerate(tokens)}
    fast = tokenizers.Tokenizer(tokenizers.models.WordPiece(ids, unk_token="[UNK]"))
    fast.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
    fast.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    fast.add_special_tokens(SPECIAL)
    fast.save(str(folder / "tokenizer.json"))
    return BertTokenizer(str(path))


def characters(divisor):
    """One in so many of all characters that are assigned, but most letters without case, each between two letters."""
    basic = BasicTokenizer(do_lower_case=True)
    some = [c for number, c in enumerate(ASSIGNED) if unicodedata.category(c) != "Lo" or number % 16 == 0]
    return [{"text": f"a{c}b", "tokens": basic.tokenize(f"a{c}b")} for c in some[::divisor]]


def features(tokenizer, lengths, context, question):
    example = squad.SquadExample("q", question, context, None, None, "title")
    squad.squad_convert_example_to_features_init(tokenizer)
    row, most, stride = lengths
    return example, squad.squad_convert_example_to_features(example, row, stride, most, "max_length", False)


def described(row):
    words = [row.token_to_orig_map.get(at, -1) for at in range(len(row.tokens))]
    most = [at for at in range(len(row.tokens)) if row.token_is_max_context.get(at, False)]
    return {
        "ids": row.input_ids,
        "mask": row.attention_mask,
        "segments": row.token_type_ids,
        "words": words,
        "most": most,
    }


def best_answers(example, rows, logits, row_length):
    """The twenty best, from the description in MLPerf's rules; the text of each by transformers' own projection."""
    pairs = []
    for row, given in zip(rows, logits):
        if given is None:
            continue
        starts, ends = [values + [PADDING] * (row_length - len(values)) for values in given]
        order = lambda values: sorted(range(len(values)), key=lambda at: -values[at])[:20]
        for start in order(starts):
            for end in order(ends):
                inside = start in row.token_to_orig_map and end in row.token_to_orig_map
                if inside and row.token_is_max_context.get(start, False) and start <= end < start + 30:
                    pairs.append((row, start, end, starts[start], ends[end]))
    pairs.sort(key=lambda pair: -(pair[3] + pair[4]))
    best, seen = [], set()
    for row, start, end, start_logit, end_logit in pairs:
        if len(best) == 20:
            break
        pieces = " ".join(row.tokens[start : end + 1]).replace(" ##", "").replace("##", "")
        words = example.doc_tokens[row.token_to_orig_map[start] : row.token_to_orig_map[end] + 1]
        answer = get_final_text(" ".join(pieces.split()), " ".join(words), True)
        if answer not in seen:
            seen.add(answer)
            best.append([answer, start_logit, end_logit])
    return best


def random_logits(rng, row, row_length):
    """Eighths, so that many are equal; rarely none, rarely shorter than the row, rarely with one impossible position."""
    kind = rng.random()
    if kind < 0.05:
        return None
    length = rng.choice([len(row.tokens), row_length, rng.randrange(1, row_length + 1)])
    spread = rng.choice([1, 8, 64])
    values = [[rng.randrange(-spread, spread + 1) / 8 for _ in range(length)] for _ in range(2)]
    for half in values:
        for _ in range(3):
            half[rng.randrange(length)] += spread / 8
    if kind > 0.98:
        values[0][rng.randrange(length)] = -20000.0
    return values


def main(folder, seed, divisor):
    logging.set_verbosity_error()
    rng = random.Random(seed)
    tokenizer = write_vocabulary(folder, rng)
    basic = BasicTokenizer(do_lower_case=True)
    cases = open(folder / "cases.jsonl", "w", encoding="utf-8")
    write = lambda kind, case: print(json.dumps({"kind": kind, **case}), file=cases)
    for case in characters(divisor):
        write("basic", case)
    for _ in range(4000 // divisor):
        case = text(rng, rng.randrange(0, 12))
        write("basic", {"text": case, "tokens": basic.tokenize(case)})
        write("bert", {"text": case, "ids": tokenizer.convert_tokens_to_ids(tokenizer.tokenize(case))})
    for number in range(1100 // divisor):
        lengths = SQUAD if number % 10 == 0 else SMALL
        word_count = rng.randrange(0, 400 if lengths == SQUAD else 16)
        # transformers takes the first [PAD] for the end of a row, MLPerf's reference does not.
        context = text(rng, word_count, SPACES[:10] + [" "] * 20).replace("[PAD]", "[pad]")
        # transformers takes no question without a token.
        question = "Who " + text(rng, rng.randrange(0, 14), [" "]).replace("[PAD]", "[pad]")
        example, rows = features(tokenizer, lengths, context, question)
        tries = []
        for _ in range(2):
            logits = [random_logits(rng, row, lengths[0]) for row in rows]
            tries.append({"logits": logits, "best": best_answers(example, rows, logits, lengths[0])})
        case = {"context": context, "question": question, "lengths": lengths, "tries": tries}
        write("features", {**case, "rows": [described(row) for row in rows]})


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), *map(int, sys.argv[2:]))
