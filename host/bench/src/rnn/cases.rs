//! Layers that are timed: the shapes of tables 1 to 4 of DeepCPU (USENIX ATC 2018), a few small ones, and the
//! ones that [`random`] draws. [`sets`] says which of them are summed up together.

pub(super) mod random;
pub(super) mod sets;

use std::fmt;

use clap::ValueEnum;
use proctor_recipes::RnnCell;
use proctor_recurrent_layers::TABLE_1;
use proctor_rnn_layer::{Cell, Directions, GruReset, LayerShape, Precision};
use serde::{Deserialize, Serialize};

/// A set of layers that are reported together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Group {
    /// Table 1, LSTM and GRU, forward
    Table1,
    /// Table 1, GRU with the reset gate before the product (linear_before_reset = 0)
    Table1Lbr0,
    /// Table 1, LSTM and GRU in both directions
    Table1Bidir,
    /// Layers of text similarity, attention sum reader and BiDAF
    Models,
    /// Small bidirectional layer, single steps, and a layer that is little more than the call
    Extra,
    /// LSTMs of 32 to 1024 units over 100 steps
    SweepDimension,
    /// LSTMs of 256 units over 1 to 1000 steps
    SweepTime,
    /// LSTMs of 256 units with 1 to 64 sequences of 100 steps
    SweepBatch,
    /// Drawn from a seed
    #[value(skip)]
    Random,
}

impl Group {
    /// Sweeps of one size, as in figure 5 of the paper.
    pub(super) const SWEEPS: [Self; 3] = [Self::SweepDimension, Self::SweepTime, Self::SweepBatch];

    /// Returns the groups without repeated layers: all except the sweeps.
    pub(super) fn without_sweeps() -> Vec<Self> {
        let is_no_sweep = |group: &&Self| !Self::SWEEPS.contains(group);
        Self::value_variants().iter().filter(is_no_sweep).copied().collect()
    }
}

/// The cells that all systems have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    Lstm,
    /// The reset gate acts on the hidden product, as in PyTorch.
    Gru,
    /// The reset gate acts on the state before the product.
    Gru0,
}

/// One layer with the size of its call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Case {
    pub(super) group: Group,
    /// Role in a model; empty in table 1.
    pub(super) role: &'static str,
    #[serde(flatten)]
    pub(super) layer: LayerCase,
}

/// A layer in the form that a worker reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LayerCase {
    pub(super) kind: Kind,
    pub(super) bidirectional: bool,
    pub(super) input: usize,
    pub(super) hidden: usize,
    pub(super) batch: usize,
    pub(super) time: usize,
}

impl Kind {
    /// Returns the same in the words of the recipes, which name tensors and models.
    pub(super) fn cell(self) -> RnnCell {
        match self {
            Self::Lstm => RnnCell::Lstm,
            Self::Gru => RnnCell::Gru,
            Self::Gru0 => RnnCell::Gru0,
        }
    }

    pub(super) fn gate_count(self) -> usize {
        self.cell().gate_count()
    }

    /// Returns the name in model ids.
    pub(super) fn name(self) -> &'static str {
        self.cell().name()
    }

    /// Returns the prefix of the tensors in a file.
    pub(super) fn prefix(self) -> &'static str {
        self.cell().prefix()
    }
}

impl LayerCase {
    pub(super) fn direction_count(&self) -> usize {
        if self.bidirectional { 2 } else { 1 }
    }

    /// Returns whether a call has one step: a step of a decoder, which continues from a state.
    pub(super) fn has_initial_state(&self) -> bool {
        self.time == 1
    }

    /// Returns the operations of the matrix products, as the paper counts them: a multiplication and an addition are
    /// two.
    pub(super) fn flops(&self) -> f64 {
        let step = 2 * self.kind.gate_count() * self.hidden * (self.input + self.hidden);
        (step * self.batch * self.time * self.direction_count()) as f64
    }

    pub(super) fn model_id(&self) -> String {
        let Self { kind, input, hidden, batch, time, .. } = self;
        let suffix = if self.bidirectional { "-bi" } else { "" };
        format!("rnn-{}-{input}-{hidden}-{batch}-{time}{suffix}", kind.name())
    }

    /// Returns the same in the words of the optimiser.
    pub(super) fn shape(&self, precision: Precision) -> LayerShape {
        let cell = match self.kind {
            Kind::Lstm => Cell::Lstm,
            Kind::Gru => Cell::Gru(GruReset::AfterProduct),
            Kind::Gru0 => Cell::Gru(GruReset::BeforeProduct),
        };
        let directions = if self.bidirectional { Directions::Bidirectional } else { Directions::Forward };
        let Self { input, hidden, batch, time, .. } = *self;
        LayerShape { cell, directions, input, hidden, batch, time, precision }
    }
}

impl fmt::Display for Case {
    /// Writes `gru bi 200,512,1,20`: input, hidden, batch, time; for a layer of a model, with its role.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LayerCase { kind, input, hidden, batch, time, .. } = self.layer;
        let role = if self.role.is_empty() { String::new() } else { format!("{} ", self.role) };
        let both = if self.layer.bidirectional { " bi" } else { "" };
        write!(f, "{role}{}{both} {input},{hidden},{batch},{time}", kind.name())
    }
}

/// Tables 2 to 4: role, cell, whether in both directions, and the sizes.
const MODELS: [(&str, Kind, bool, [usize; 4]); 9] = [
    ("ts", Kind::Gru, false, [200, 512, 1, 20]),
    ("ts", Kind::Gru, true, [200, 512, 1, 20]),
    ("asr-question", Kind::Gru, true, [200, 256, 1, 20]),
    ("asr-context", Kind::Gru, true, [200, 256, 10, 100]),
    ("bidaf-phrase-q", Kind::Lstm, true, [50, 100, 1, 15]),
    ("bidaf-phrase-c", Kind::Lstm, true, [50, 100, 1, 100]),
    ("bidaf-modeling-1", Kind::Lstm, true, [800, 100, 1, 100]),
    ("bidaf-modeling-2", Kind::Lstm, true, [200, 100, 1, 100]),
    ("bidaf-output", Kind::Lstm, true, [1400, 100, 1, 100]),
];

/// Sizes of the sweeps: each group has one of these and the others of [`SWEPT_FROM`].
const SWEPT_DIMENSIONS: [usize; 6] = [32, 64, 128, 256, 512, 1024];
const SWEPT_TIMES: [usize; 10] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
const SWEPT_BATCHES: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];
const SWEPT_FROM: LayerCase =
    LayerCase { kind: Kind::Lstm, bidirectional: false, input: 256, hidden: 256, batch: 1, time: 100 };

/// Role of a layer so small that the call dominates.
pub(super) const CALL_FLOOR: &str = "call-floor";

const EXTRA: [(&str, Kind, bool, [usize; 4]); 8] = [
    (CALL_FLOOR, Kind::Lstm, false, [16, 16, 1, 1]),
    ("small-bidir", Kind::Lstm, true, [24, 32, 1, 63]),
    ("one-step", Kind::Lstm, false, [256, 256, 1, 1]),
    ("one-step", Kind::Lstm, false, [512, 512, 1, 1]),
    ("one-step", Kind::Lstm, false, [1024, 1024, 1, 1]),
    ("one-step", Kind::Gru, false, [256, 256, 1, 1]),
    ("one-step", Kind::Gru, false, [512, 512, 1, 1]),
    ("one-step", Kind::Gru, false, [1024, 1024, 1, 1]),
];

/// Returns all layers of a group.
pub(super) fn cases(group: Group) -> Vec<Case> {
    let case = |role, kind, bidirectional, [input, hidden, batch, time]: [usize; 4]| {
        let layer = LayerCase { kind, bidirectional, input, hidden, batch, time };
        Case { group, role, layer }
    };
    let table_1 = |kinds: &[Kind], bidirectional| {
        let of_kind = |kind: &Kind| TABLE_1.map(|sizes| case("", *kind, bidirectional, sizes));
        kinds.iter().flat_map(of_kind).collect()
    };
    let listed = |rows: &[(&'static str, Kind, bool, [usize; 4])]| {
        rows.iter().map(|(role, kind, both, sizes)| case(role, *kind, *both, *sizes)).collect()
    };
    let swept = |sizes: &[usize], of_size: &dyn Fn(usize) -> LayerCase| {
        sizes.iter().map(|size| Case { group, role: "", layer: of_size(*size) }).collect()
    };
    match group {
        Group::SweepDimension => {
            swept(&SWEPT_DIMENSIONS, &|size| LayerCase { input: size, hidden: size, ..SWEPT_FROM })
        }
        Group::SweepTime => swept(&SWEPT_TIMES, &|time| LayerCase { time, ..SWEPT_FROM }),
        Group::SweepBatch => swept(&SWEPT_BATCHES, &|batch| LayerCase { batch, ..SWEPT_FROM }),
        Group::Table1 => table_1(&[Kind::Lstm, Kind::Gru], false),
        Group::Table1Lbr0 => table_1(&[Kind::Gru0], false),
        Group::Table1Bidir => table_1(&[Kind::Lstm, Kind::Gru], true),
        Group::Models => listed(&MODELS),
        Group::Extra => listed(&EXTRA),
        // Drawn, not listed.
        Group::Random => Vec::new(),
    }
}

/// Returns the layers whose row has each of these texts in its name.
pub(super) fn named(mut cases: Vec<Case>, texts: &[String]) -> Vec<Case> {
    cases.retain(|case| {
        let name = case.to_string();
        texts.iter().all(|text| name.contains(text.as_str()))
    });
    cases
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_group_has_its_rows() {
        let counts: Vec<_> = Group::value_variants().iter().map(|group| cases(*group).len()).collect();
        assert_eq!(counts, [30, 15, 30, 9, 8, 6, 10, 7]);
        assert_eq!(Group::without_sweeps().len() + Group::SWEEPS.len(), counts.len());
    }

    #[test]
    fn a_sweep_changes_one_size() {
        let names = |group| cases(group).iter().map(Case::to_string).collect::<Vec<_>>();
        let ends = |group| {
            let names = names(group);
            [names[0].clone(), names[names.len() - 1].clone()]
        };
        assert_eq!(ends(Group::SweepDimension), ["lstm 32,32,1,100", "lstm 1024,1024,1,100"]);
        assert_eq!(ends(Group::SweepTime), ["lstm 256,256,1,1", "lstm 256,256,1,1000"]);
        assert_eq!(ends(Group::SweepBatch), ["lstm 256,256,1,100", "lstm 256,256,64,100"]);
        for group in Group::SWEEPS {
            assert!(names(group).contains(&"lstm 256,256,1,100".to_owned()), "{group:?}");
        }
    }

    #[test]
    fn rows_are_chosen_by_parts_of_their_names() {
        let chosen = |texts: &[&str]| {
            let texts: Vec<_> = texts.iter().map(|text| (*text).to_owned()).collect();
            let all = Group::without_sweeps().into_iter().flat_map(cases).collect();
            named(all, &texts).iter().map(Case::to_string).collect::<Vec<_>>()
        };
        assert_eq!(chosen(&["small-bidir"]), ["small-bidir lstm bi 24,32,1,63"]);
        assert_eq!(chosen(&["gru0 ", "1024,1024,1,"]), ["gru0 1024,1024,1,100"]);
        assert_eq!(chosen(&["bi 256,256,1,1", "lstm"]).len(), 3);
        assert!(chosen(&["gnu"]).is_empty());
        assert_eq!(named(cases(Group::Extra), &[]).len(), 8);
    }

    #[test]
    fn both_directions_are_counted() {
        let layer =
            LayerCase { kind: Kind::Gru, bidirectional: true, input: 2, hidden: 3, batch: 5, time: 7 };
        assert_eq!(layer.flops(), f64::from(2 * 3 * 3 * (2 + 3) * 5 * 7 * 2));
        assert_eq!(layer.model_id(), "rnn-gru-2-3-5-7-bi");
        assert!(!layer.has_initial_state());
    }
}
