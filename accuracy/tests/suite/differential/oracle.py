"""Random questions with logits, and the F1 to which they lead by way of transformers, for `main.rs`.

    python3 oracle.py FOLDER SEED COUNT SECONDS

writes a data set in the layout of SQuAD to FOLDER, mlperf_log_accuracy.json with a response for most of its rows, and
expected.json. Draws COUNT questions, or fewer where they take more SECONDS of a processor. Exits with 3 where a package
is missing.
"""

import json
import math
import pathlib
import random
import struct
import sys
import time

# Texts, the vocabulary, and rows with their answers are made as for the test of the text crate.
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[4] / "datasets/text/tests/suite/differential"))

from peer import SQUAD, BertTokenizer, best_answers, features, logging, text, write_vocabulary
from transformers.data.metrics.squad_metrics import compute_exact, compute_f1, get_tokens

ROW = SQUAD[0]
# Without the spaces that are none to a word.
SPACES = [" ", " ", " ", "  ", "\t", "\n", "\r\n", "\u202f"]


def right_answers(rng, words):
    """A run of words of the context among what an annotator may make of it, and its first and last word."""
    if not words:
        return ["nothing"], None
    first = rng.randrange(len(words))
    last = min(len(words), first + rng.randrange(1, 6))
    answer = " ".join(words[first:last])
    changes = [answer.upper(), f"the {answer}!", answer + " " + words[0], "a", text(rng, 2, [" "])]
    right = [answer, *rng.sample(changes, rng.randrange(0, 3))]
    return rng.sample(right, len(right)), (first, last - 1)


def drawn_logits(rng, row, span):
    """Eighths, so that many are equal; most often with a peak at the right answer, or near it."""
    length = rng.choice([len(row.tokens), ROW, ROW, rng.randrange(1, ROW + 1)])
    starts, ends = [[rng.randrange(-16, 17) / 8 for _ in range(length)] for _ in range(2)]
    words = row.token_to_orig_map
    if span and rng.random() < 0.8:
        places = [[at for at, word in words.items() if word == edge] for edge in span]
        for values, at in zip((starts, ends), (places[0][:1], places[1][-1:])):
            if at and at[0] < length:
                values[max(0, at[0] - rng.choice([0, 0, 0, 1]))] += 8
    return starts, ends


def response(rng, logits):
    """The bytes of a response, with the logits that count; None for those of one that is damaged."""
    kind = rng.random()
    values = [value for pair in zip(*logits) for value in pair]
    if kind < 0.01:
        values[rng.randrange(len(values))] = rng.choice([math.nan, math.inf])
        logits = None
    data = struct.pack(f"<{len(values)}f", *values)
    if 0.01 < kind < 0.02:
        return rng.choice([b"", data[:-4], data + bytes(8 * ROW)]), None
    return data, logits


def f1(answer, right):
    """That of SQuAD v1.1, in which nothing has no word in common with nothing."""
    return compute_f1(right, answer) if get_tokens(right) and get_tokens(answer) else 0.0


def main(folder, seed, count, seconds):
    logging.set_verbosity_error()
    rng = random.Random(seed)
    tokenizer: BertTokenizer = write_vocabulary(folder, rng)
    paragraphs, names, records, damaged, missing = [], [], [], 0, []
    exact, total_f1, number = 0, 0.0, 0
    while number < count and time.process_time() < seconds:
        length = rng.randrange(250, 420) if rng.random() < 0.05 else rng.randrange(0, 50)
        # transformers takes the first [PAD] for the end of a row, MLPerf's reference does not.
        context = text(rng, length, SPACES).replace("[PAD]", "[pad]")
        asked = []
        for _ in range(rng.randrange(1, 4)):
            question = "Who " + text(rng, rng.randrange(0, 14), [" "]).replace("[PAD]", "[pad]")
            example, rows = features(tokenizer, SQUAD, context, question)
            right, span = right_answers(rng, example.doc_tokens)
            given = []
            for row in rows:
                sample, logits = len(names), None
                names.append(f"q{number}")
                if rng.random() < 0.02:
                    missing.append(sample)
                else:
                    data, logits = response(rng, drawn_logits(rng, row, span))
                    damaged += logits is None
                    records.append((sample, data))
                given.append(logits)
            if any(given):
                best = best_answers(example, rows, given, ROW)
                answer = best[0][0] if best else "empty"
                exact += max(compute_exact(it, answer) for it in right)
                total_f1 += max(f1(answer, it) for it in right)
            asked.append({"id": f"q{number}", "question": question, "answers": [{"text": it} for it in right]})
            number += 1
        paragraphs.append({"context": context, "qas": asked})
    rng.shuffle(records)
    (folder / "dev-v1.1.json").write_text(json.dumps({"version": "1.1", "data": [{"paragraphs": paragraphs}]}))
    lines = [
        f'{{ "seq_id" : {place}, "qsl_idx" : {sample}, "data" : "{data.hex().upper()}" }}'
        for place, (sample, data) in enumerate(records)
    ]
    (folder / "mlperf_log_accuracy.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")
    line = json.dumps({"exact_match": 100.0 * exact / number, "f1": 100.0 * total_f1 / number})
    expected = {"question_count": number, "names": names, "line": line, "missing": missing, "damaged": damaged}
    (folder / "expected.json").write_text(json.dumps(expected))


main(pathlib.Path(sys.argv[1]), *map(int, sys.argv[2:]))
