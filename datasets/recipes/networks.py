"""The models in float64, one sample at a time, written to be compared with plugins/cpu-rnn/models/src/nets/README.md."""

from __future__ import annotations

import numpy as np

Weights = dict[str, np.ndarray]


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-x))


def softmax(x: np.ndarray) -> np.ndarray:
    if x.size == 0:
        return x
    e = np.exp(x - x.max())
    return e / e.sum()


def log_softmax(x: np.ndarray) -> np.ndarray:
    """Of each row."""
    shifted = x - x.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def input_product(w: Weights, p: str, end: str, x: np.ndarray) -> np.ndarray:
    return x @ w[f"{p}.weight_ih_{end}"].T + w[f"{p}.bias_ih_{end}"]


def hidden_product(w: Weights, p: str, end: str, h: np.ndarray) -> np.ndarray:
    return h @ w[f"{p}.weight_hh_{end}"].T + w[f"{p}.bias_hh_{end}"]


def lstm_gates(a: np.ndarray, b: np.ndarray, c: np.ndarray):
    """The cell from its two products; gates i, f, g, o."""
    i, f, g, o = np.split(a + b, 4, axis=-1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def gru_gates(a: np.ndarray, b: np.ndarray, h: np.ndarray) -> np.ndarray:
    """The cell from its two products; gates r, z, n; the reset gate acts on the hidden product."""
    a, b = np.split(a, 3, axis=-1), np.split(b, 3, axis=-1)
    r, z = sigmoid(a[0] + b[0]), sigmoid(a[1] + b[1])
    n = np.tanh(a[2] + r * b[2])
    return (1.0 - z) * n + z * h


def lstm_cell(w: Weights, p: str, end: str, x: np.ndarray, h: np.ndarray, c: np.ndarray):
    """One step for a batch of rows."""
    return lstm_gates(input_product(w, p, end, x), hidden_product(w, p, end, h), c)


def direction(w: Weights, p: str, end: str, x: np.ndarray):
    """All steps of one sequence in the order given: outputs [time, hidden], last h, last c (zeros for a GRU)."""
    hidden = w[f"{p}.weight_hh_{end}"].shape[1]
    is_lstm = w[f"{p}.weight_hh_{end}"].shape[0] == 4 * hidden
    h, c = np.zeros(hidden), np.zeros(hidden)
    outputs = np.zeros((len(x), hidden))
    for t, a in enumerate(input_product(w, p, end, x)):
        b = hidden_product(w, p, end, h)
        if is_lstm:
            h, c = lstm_gates(a, b, c)
        else:
            h = gru_gates(a, b, h)
        outputs[t] = h
    return outputs, h, c


def layer(w: Weights, p: str, x: np.ndarray, index: int = 0):
    """One layer, both directions if it has two: outputs [time, units], and (last h, last c) of each direction."""
    outputs, h, c = direction(w, p, f"l{index}", x)
    states = [(h, c)]
    if f"{p}.weight_ih_l{index}_reverse" in w:
        back, h, c = direction(w, p, f"l{index}_reverse", x[::-1])
        outputs = np.concatenate([outputs, back[::-1]], axis=1)
        states.append((h, c))
    return outputs, states


def linear(w: Weights, p: str, x: np.ndarray) -> np.ndarray:
    return x @ w[f"{p}.weight"].T + w[f"{p}.bias"]


def text_similarity(w: Weights, query, query_length, documents, document_lengths) -> dict[str, np.ndarray]:
    def encode(words: np.ndarray) -> np.ndarray:
        units = 2 * w["gru.weight_hh_l0"].shape[1]
        outputs, _ = layer(w, "gru", w["embedding.weight"][words])
        pooled = outputs.max(axis=0) if len(words) else np.zeros(units)
        return np.tanh(linear(w, "dense", pooled))

    def cosine(a: np.ndarray, b: np.ndarray) -> float:
        norms = np.sqrt((a @ a) * (b @ b))
        return float(a @ b / norms) if norms > 0 else 0.0

    vector = encode(query[0, : query_length[0]])
    texts = [words[:length] for words, length in zip(documents, document_lengths)]
    return {"scores": np.array([cosine(vector, encode(words)) for words in texts])}


def attention_sum_reader(w: Weights, question, question_length, contexts, context_lengths, candidates):
    embed = w["embedding.weight"]
    _, states = layer(w, "question", embed[question[0, : question_length[0]]])
    g = np.concatenate([h for h, _ in states])
    scores, words = [], []
    for context, length in zip(contexts, context_lengths):
        outputs, _ = layer(w, "context", embed[context[:length]])
        scores.extend(outputs @ g)
        words.extend(context[:length])
    attention = softmax(np.array(scores))
    return {"scores": np.array([attention[np.array(words) == word].sum() for word in candidates])}


def bidaf(w: Weights, question, question_length, context, context_length) -> dict[str, np.ndarray]:
    steps = context.shape[1]

    def phrase(words: np.ndarray) -> np.ndarray:
        x = w["embedding.weight"][words]
        for index in range(2):
            gate = sigmoid(linear(w, f"highway.{index}.gate", x))
            x = gate * np.maximum(linear(w, f"highway.{index}.transform", x), 0.0) + (1.0 - gate) * x
        return layer(w, "phrase", x)[0]

    h = phrase(context[0, : context_length[0]])
    u = phrase(question[0, : question_length[0]])
    wh, wu, whu = np.split(w["attention.weight"], 3)
    if len(u):
        s = (h @ wh)[:, None] + (u @ wu)[None, :] + (h * whu) @ u.T
        a = np.stack([softmax(row) for row in s]) @ u if len(h) else np.zeros_like(h)
        top = s.max(axis=1)
    else:
        a, top = np.zeros_like(h), np.zeros(len(h))
    c = softmax(top) @ h
    p = np.concatenate([h, a, h * a, h * c], axis=1)
    m = layer(w, "modeling", layer(w, "modeling", p, 0)[0], 1)[0]
    start = softmax(np.concatenate([m, p], axis=1) @ w["start.weight"])
    mean = np.broadcast_to(start @ m, m.shape)
    e = layer(w, "output", np.concatenate([p, m, mean, m * mean], axis=1))[0]
    end = softmax(np.concatenate([e, p], axis=1) @ w["end.weight"])
    pad = (0, steps - len(start))
    return {"start": np.pad(start, pad), "end": np.pad(end, pad)}


START, END = 1, 2


def gnmt_encode(w: Weights, words: np.ndarray):
    """The memory [time, units], and the decoder's initial (h, c) of each layer."""
    x, first = layer(w, "encoder.lstm0", w["encoder.embedding.weight"][words])
    states = [first[1]]
    for index in (1, 2, 3):
        y, last = layer(w, f"encoder.lstm{index}", x)
        x = y + x if index > 1 else y
        states.append(last[0])
    return x, states


def gnmt_step(w: Weights, words, context, states, memory, keys):
    """One step for a batch of beams: log probabilities, context, attention, states."""
    states = list(states)

    def cell(index: int, x: np.ndarray) -> np.ndarray:
        states[index] = lstm_cell(w, f"decoder.lstm{index}", "l0", x, *states[index])
        return states[index][0]

    h = cell(0, np.concatenate([w["decoder.embedding.weight"][words], context], axis=1))
    v = w["attention.v"]
    query = h @ w["attention.query.weight"].T + w["attention.bias"]
    energy = np.tanh(keys[None] + query[:, None]) @ (w["attention.g"][0] * v / np.sqrt(v @ v))
    attention = np.stack([softmax(row) for row in energy])
    context = attention @ memory
    for index in (1, 2, 3):
        y = cell(index, np.concatenate([h, context], axis=1))
        h = y + h if index > 1 else y
    return log_softmax(h @ w["decoder.output.weight"].T), context, attention, states


def gnmt(w: Weights, source, source_length, beam: int, length_weight: float, coverage_weight: float, margins=None):
    """Beam search as tensorflow/nmt has it. `margins` collects how far the last choice of a step was from the next."""
    words = source[0, : source_length[0]]
    if len(words) == 0:
        return {"tokens": np.zeros(0, dtype=np.int64)}
    memory, first = gnmt_encode(w, words)
    keys = memory @ w["attention.memory.weight"].T
    units = memory.shape[1]
    states = [(np.repeat(h[None], beam, 0), np.repeat(c[None], beam, 0)) for h, c in first]
    context = np.zeros((beam, units))
    total = np.full(beam, -np.inf)
    total[0] = 0.0
    lengths, ended = np.zeros(beam, dtype=np.int64), np.zeros(beam, dtype=bool)
    last, coverage = np.full(beam, START), np.zeros((beam, len(words)))
    texts: list[list[int]] = [[] for _ in range(beam)]
    for _ in range(2 * len(words)):
        log_p, context, attention, states = gnmt_step(w, last, context, states, memory, keys)
        vocabulary = log_p.shape[1]
        log_p[ended] = -np.inf
        log_p[ended, END] = 0.0
        sums = total[:, None] + log_p
        counted = np.repeat(lengths[:, None], vocabulary, 1)
        counted[~ended] += 1
        counted[~ended, END] -= 1
        coverage = coverage + attention * ~ended[:, None]
        scores = sums / ((5.0 + counted) / 6.0) ** length_weight
        if coverage_weight:
            seen = np.where(coverage == 0.0, 1.0, coverage)
            penalty = coverage_weight * np.log(np.minimum(seen, 1.0)).sum(axis=1)
            scores = scores + np.where(ended, penalty, 0.0)[:, None]
        order = np.argsort(-scores.ravel(), kind="stable")[: beam + 1]
        if margins is not None:
            ranked = scores.ravel()[order]
            margins.append(float(np.min(-np.diff(ranked[np.isfinite(ranked)]))))
        chosen = order[:beam]
        parent, last = chosen // vocabulary, chosen % vocabulary
        total = sums.ravel()[chosen]
        lengths = lengths[parent] + ~ended[parent]
        texts = [texts[p] + ([] if ended[p] or word == END else [int(word)]) for p, word in zip(parent, last)]
        ended = ended[parent] | (last == END)
        coverage, context = coverage[parent], context[parent]
        states = [(h[parent], c[parent]) for h, c in states]
        if ended.all():
            break
    return {"tokens": np.array(texts[0], dtype=np.int64)}


def rnnt_encode(w: Weights, features: np.ndarray) -> np.ndarray:
    x = layer(w, "encoder.pre_rnn.lstm", features, 0)[0]
    x = layer(w, "encoder.pre_rnn.lstm", x, 1)[0]
    x = np.pad(x, ((0, len(x) % 2), (0, 0)))
    x = x.reshape(len(x) // 2, -1)
    for index in range(3):
        x = layer(w, "encoder.post_rnn.lstm", x, index)[0]
    return x


def rnnt(w: Weights, features, feature_length, symbols_max: int, room: int, margins=None) -> dict[str, np.ndarray]:
    units = w["prediction.embed.weight"].shape[1]
    blank = w["prediction.embed.weight"].shape[0]
    prefix = "prediction.dec_rnn.lstm"

    def predict(symbol, states):
        x = np.zeros((1, units)) if symbol is None else w["prediction.embed.weight"][symbol][None]
        after = []
        for index, state in enumerate(states):
            after.append(lstm_cell(w, prefix, f"l{index}", x, *state))
            x = after[-1][0]
        return x, after

    tokens: list[int] = []
    g, states = predict(None, [(np.zeros((1, units)), np.zeros((1, units)))] * 2)
    for f in rnnt_encode(w, features[: feature_length[0]]):
        for _ in range(symbols_max):
            joint = np.maximum(linear(w, "joint.net.0", np.concatenate([f, g[0]])), 0.0)
            logits = linear(w, "joint.net.3", joint)
            if margins is not None:
                margins.append(float(np.diff(np.sort(logits)[-2:])[0]))
            symbol = int(np.argmax(logits))
            if symbol == blank or len(tokens) == room:
                break
            tokens.append(symbol)
            g, states = predict(symbol, states)
    return {"tokens": np.array(tokens, dtype=np.int64)}
