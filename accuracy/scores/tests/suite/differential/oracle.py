"""Scores of cases by independent implementations: one JSON value in and one out for each line.

The first argument names the task. Python computes what the packages do not: the definitions of the reference's scripts,
written here from their description.
"""

import collections
import contextlib
import decimal
import io
import json
import math
import re
import string
import sys


def detection(case):
    import numpy
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    with contextlib.redirect_stdout(io.StringIO()) as page:
        truth = COCO()
        truth.dataset = {
            "images": [{"id": image} for image in case["known_images"]],
            "categories": [{"id": category} for category in case["categories"]],
            "annotations": case["annotations"],
        }
        truth.createIndex()
        if case["detections"]:
            found = truth.loadRes(case["detections"])
        else:
            found = COCO()
            found.dataset = {"images": truth.dataset["images"], "categories": [], "annotations": []}
            found.createIndex()
        evaluation = COCOeval(truth, found, iouType="bbox")
        evaluation.params.imgIds = case["images"]
        evaluation.evaluate()
        evaluation.accumulate()
        page.truncate(0)
        page.seek(0)
        evaluation.summarize()
    figures = numpy.asarray(evaluation.stats, dtype=float).tolist()
    return {"figures": figures, "lines": page.getvalue() + f"mAP={100 * figures[0]:.3f}%"}


def token_runs(tokens, order):
    return collections.Counter(tuple(tokens[i : i + order]) for i in range(len(tokens) - order + 1))


def token_bleu(case):
    matches, possible, answer_length, right_length = [0] * 4, [0] * 4, 0, 0
    for answer, right in case["pairs"]:
        answer, right = answer.split(" "), right.strip().replace("@@ ", "").split(" ")
        answer_length += len(answer)
        right_length += len(right)
        for order in range(1, 5):
            runs = token_runs(answer, order)
            matches[order - 1] += sum((runs & token_runs(right, order)).values())
            possible[order - 1] += sum(runs.values())
    shares = [m / p if p else 0.0 for m, p in zip(matches, possible)]
    mean = math.exp(sum(math.log(share) / 4 for share in shares)) if min(shares) > 0 else 0.0
    short = answer_length <= right_length
    bleu = mean * (math.exp(1 - right_length / answer_length) if short else 1.0)
    return {"figures": [100 * bleu], "lines": f"BLEU: {100 * bleu:.1f}"}


def speech(case):
    import jiwer

    answers, right = zip(*case["pairs"])
    rate = jiwer.wer(list(right), list(answers))
    return {"figures": [rate], "lines": f"Word Error Rate: {rate * 100}%, accuracy={(1 - rate) * 100}%"}


SHORT = dict(
    mrs="misess", mr="mister", dr="doctor", st="saint", co="company", jr="junior", maj="major", gen="general",
    drs="doctors", rev="reverend", lt="lieutenant", hon="honorable", sgt="sergeant", capt="captain", esq="esquire",
    ltd="limited", col="colonel", ft="fort",
)  # fmt: skip


def dollars(match):
    whole, cents = (match[1].split(".") + ["0"])[:2]
    if match[1].count(".") > 1:
        return match[1] + " dollars"
    parts = [(int(whole or 0), "dollar"), (int(cents or 0), "cent")]
    parts = [f"{count} {unit}{'s' * (count != 1)}" for count, unit in parts if count]
    return ", ".join(parts) or "zero dollars"


def transcript(case):
    import typeguard

    # The checks of types take three seconds to build, while inflect loads.
    typeguard.typechecked = lambda it: it
    import inflect
    from unidecode import unidecode

    words = inflect.engine().number_to_words

    def number(match):
        digits, value = match[0], int(match[0])
        if digits[0] == "0" or (value > 10**9 and value % 10**4):
            return words(digits, andword="", group=1)
        if value == 2000 or not 1000 < value < 3000:
            return words(digits, andword="")
        if 2000 < value < 2010:
            return "two thousand " + words(value - 2000)
        if value % 100 == 0:
            return words(value // 100) + " hundred"
        return words(digits, andword="", zero="oh", group=2)

    text = unidecode(case["text"]).lower()
    text = re.sub(r"[0-9][0-9,]+[0-9]", lambda match: match[0].replace(",", ""), text)
    text = re.sub(r"\$([0-9.,]*[0-9]+)", dollars, text)
    text = re.sub(r"([0-9]+)\.([0-9]+)", r"\1 point \2", text)
    text = re.sub(r"[0-9]+(?:st|nd|rd|th)", lambda match: words(match[0]), text)
    text = re.sub(r"[0-9]+", number, text)
    for short, long in SHORT.items():
        text = re.sub(rf"\b{short}\.", long, text)
    text = "".join(" " if c in string.punctuation and c not in "+&'" else c for c in text)
    text = " ".join(text.replace("&", " and ").replace("+", " plus ").split())
    text = "".join(c for c in text if c in " '" or c in string.ascii_lowercase)
    return {"figures": [], "lines": text}


def normalized(text):
    text = "".join(c for c in text.lower() if c not in string.punctuation)
    return re.sub(r"\b(?:a|an|the)\b", " ", text).split()


def f1(answer, right):
    answer, right = normalized(answer), normalized(right)
    common = sum((collections.Counter(answer) & collections.Counter(right)).values())
    if common == 0:
        return 0.0
    precision, recall = common / len(answer), common / len(right)
    return 2 * precision * recall / (precision + recall)


def answers(case):
    exact, total_f1 = 0, 0.0
    for answer, right in case["questions"]:
        if answer is not None:
            exact += any(normalized(answer) == normalized(it) for it in right)
            total_f1 += max(f1(answer, it) for it in right)
    count = len(case["questions"])
    figures = {"exact_match": 100.0 * exact / count, "f1": 100.0 * total_f1 / count}
    return {"figures": list(figures.values()), "lines": json.dumps(figures)}


def ranking(case):
    import numpy
    import sklearn.metrics

    predictions, labels = (numpy.asarray(case[name], dtype=numpy.float32) for name in ("predictions", "labels"))
    area = float(sklearn.metrics.roc_auc_score(labels, predictions))
    good, total = int((numpy.round(predictions) == labels).sum()), len(labels)
    # Without the last bits of the sum, which decide how a tie is printed.
    line = f"AUC={100 * round(area, 12):.3f}%, accuracy={100 * (good / total):.3f}%, good={good}, total={total}, queries=7"
    return {"figures": [area], "lines": line}


def kits(case):
    import numpy

    rows = []
    for answer, right in case["cases"]:
        planes = [numpy.eye(3)[numpy.asarray(volume)][:, 1:] for volume in (answer, right)]
        both = (planes[0] * planes[1]).sum(axis=0)
        rows.append((2 * both + 1e-6) / (planes[1].sum(axis=0) + planes[0].sum(axis=0) + 1e-6))
    kidney, tumor = numpy.mean(rows, axis=0).tolist()
    mean = float(numpy.mean([row.mean() for row in rows]))
    line = f"Accuracy: mean = {mean:.5f}, kidney = {kidney:.4f}, tumor = {tumor:.4f}"
    return {"figures": [mean, kidney, tumor], "lines": line}


def brats(case):
    import numpy

    figures = []
    for first in (1, 2, 3):
        regions = [[numpy.asarray(volume) >= first for volume in pair] for pair in case["cases"]]
        rows = [2 * (a & b).sum() / (a.sum() + b.sum()) for a, b in regions if a.any() or b.any()]
        figures.append(float("%.4f" % numpy.mean(rows)) if rows else math.nan)
    mean = sum(figures) / 3
    names = ("whole tumor", "tumor core", "enhancing tumor")
    parts = ", ".join(f"{name} = {value:.4f}" for name, value in zip(names, figures))
    return {"figures": [], "lines": f"Accuracy: mean = {mean:.5f}, {parts}"}


def rounding(case):
    rounded = decimal.Context(prec=5, rounding=decimal.ROUND_HALF_EVEN).create_decimal(repr(case["value"]))
    return {"figures": [float(rounded)], "lines": ""}


TASKS = [
    detection, token_bleu, speech, transcript, answers, ranking, kits, brats, rounding,
]  # fmt: skip

if __name__ == "__main__":
    task = {task.__name__: task for task in TASKS}[sys.argv[1]]
    for line in sys.stdin:
        print(json.dumps(task(json.loads(line))))
