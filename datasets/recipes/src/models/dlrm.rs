//! DLRM as in MLPerf v0.7 and DLRM-v2 as in v3.1 and later, over tables of few rows; names follow the published
//! programs, dlrm and torchrec.
//!
//! A sample is one row, a user with an item: the batch of the graph is rows. A category beyond its table counts from
//! the beginning again.

use proctor_vocabulary::ElementType::{F32, I32};

use super::{
    Model,
    net::{BEFORE_RELU, Net, steady},
};
use crate::{
    inputs::{InputTensor, InputValues},
    weights::ModelRecipe,
};

/// Number of dense values of a row.
const DENSE: usize = 13;
/// Number of tables, and so of categories in a row.
const TABLES: usize = 26;

/// Sizes of a network.
pub(super) struct Sizes {
    name: &'static str,
    /// Extents of the layers over the numbers; the last is the length of a table's row.
    bottom: &'static [usize],
    /// Extents of the layers behind the interaction, except the last, which has one output.
    top: &'static [usize],
    /// Rows of each table as published.
    rows: [usize; TABLES],
    /// Maximum number of rows of a table here.
    rows_max: usize,
    interaction: Interaction,
}

/// Interaction of the features of a row.
#[derive(Clone, Copy)]
enum Interaction {
    /// Products of each two of them (Naumov et al. 2019).
    Dots,
    /// Cross network of low rank (Wang et al., "DCN V2", 2021), over all features side by side.
    Cross { layers: usize, rank: usize },
}

/// Sources: MLPerf Inference v0.7 to v3.0, `--max-ind-range=40000000`; and v3.1 to v5.1.
const ROWS: [usize; TABLES] = [
    39_884_406, 39_043, 17_289, 7_420, 20_263, 3, 7_120, 1_543, 63, 38_532_951, 2_953_546, 403_346, 10,
    2_208, 11_938, 155, 4, 976, 14, 39_979_771, 25_641_295, 39_664_984, 585_935, 12_972, 108, 36,
];
const ROWS_V2: [usize; TABLES] = [
    40_000_000, 39_060, 17_295, 7_424, 20_265, 3, 7_122, 1_543, 63, 40_000_000, 3_067_956, 405_282, 10,
    2_209, 11_938, 155, 4, 976, 14, 40_000_000, 40_000_000, 40_000_000, 590_152, 12_973, 108, 36,
];

/// Values of each feature of a row of DLRM-v2, whose rows of the table are summed.
const HOTS_V2: [usize; TABLES] =
    [3, 2, 1, 2, 6, 1, 1, 1, 1, 7, 3, 8, 1, 6, 9, 5, 1, 1, 1, 12, 100, 27, 10, 3, 1, 1];

pub(super) const SMALL_TABLES: Sizes = Sizes {
    name: "dlrm-small-tables",
    bottom: &[512, 256, 128],
    top: &[1024, 1024, 512, 256],
    rows: ROWS,
    rows_max: 10_000,
    interaction: Interaction::Dots,
};
pub(super) const TINY: Sizes =
    Sizes { name: "dlrm-tiny", bottom: &[16, 8], top: &[32, 16], rows_max: 50, ..SMALL_TABLES };

pub(super) const V2_SMALL_TABLES: Sizes = Sizes {
    name: "dlrm-v2-small-tables",
    rows: ROWS_V2,
    interaction: Interaction::Cross { layers: 3, rank: 512 },
    ..SMALL_TABLES
};
pub(super) const V2_TINY: Sizes = Sizes {
    name: "dlrm-v2-tiny",
    bottom: &[16, 8],
    top: &[32, 16],
    rows_max: 50,
    interaction: Interaction::Cross { layers: 3, rank: 4 },
    ..V2_SMALL_TABLES
};

/// Inputs of DLRM-v2, one for each table.
const CATEGORIES: [&str; TABLES] = [
    "categories_0",
    "categories_1",
    "categories_2",
    "categories_3",
    "categories_4",
    "categories_5",
    "categories_6",
    "categories_7",
    "categories_8",
    "categories_9",
    "categories_10",
    "categories_11",
    "categories_12",
    "categories_13",
    "categories_14",
    "categories_15",
    "categories_16",
    "categories_17",
    "categories_18",
    "categories_19",
    "categories_20",
    "categories_21",
    "categories_22",
    "categories_23",
    "categories_24",
    "categories_25",
];

/// Bound of the categories of samples, as in the published data sets.
const CATEGORY_MAX: u32 = 40_000_000;

/// Gain of the last layer: the logits spread over some units, so that probabilities differ.
const OF_LOGIT: f32 = 1.0;

/// Gain of the first layer over the numbers, which are logarithms of counts, mostly from 0 to 8.
const OF_COUNTS: f32 = 0.25;

/// Gain of a cross layer's addition.
const OF_CROSS: f32 = 0.5;

/// `TensorProto.DataType.INT64`.
const INT64: i64 = 7;

impl Interaction {
    /// Returns the values of each feature of a row.
    fn hots(self) -> [usize; TABLES] {
        match self {
            Self::Dots => [1; TABLES],
            Self::Cross { .. } => HOTS_V2,
        }
    }

    /// Returns the name of the layer `index` over the numbers.
    fn bottom_layer(self, index: usize) -> String {
        match self {
            Self::Dots => format!("bot_l.{}", 2 * index),
            Self::Cross { .. } => format!("dense_arch.model._mlp.{index}._linear"),
        }
    }

    /// Returns the name of a layer behind the interaction.
    fn top_layer(self, index: usize, is_last: bool) -> String {
        match self {
            Self::Dots => format!("top_l.{}", 2 * index),
            Self::Cross { .. } if is_last => "over_arch.model.1".to_owned(),
            Self::Cross { .. } => format!("over_arch.model.0._mlp.{index}._linear"),
        }
    }

    fn table(self, index: usize) -> String {
        match self {
            Self::Dots => format!("emb_l.{index}.weight"),
            Self::Cross { .. } => {
                format!("sparse_arch.embedding_bag_collection.embedding_bags.t_cat_{index}.weight")
            }
        }
    }

    /// Returns the kernels and bias of a cross layer.
    fn cross_layer(index: usize) -> [String; 3] {
        ["V_kernels", "W_kernels", "bias"].map(|part| format!("inter_arch.crossnet.{part}.{index}"))
    }
}

impl Sizes {
    /// Returns the extent of a row of a table.
    fn width(&self) -> usize {
        self.bottom[self.bottom.len() - 1]
    }

    /// Returns the rows of each table here.
    fn rows(&self) -> [usize; TABLES] {
        self.rows.map(|rows| rows.min(self.rows_max))
    }

    /// Returns the extent of the interaction.
    fn features(&self) -> usize {
        match self.interaction {
            Interaction::Dots => self.width() + pairs().count(),
            Interaction::Cross { .. } => (TABLES + 1) * self.width(),
        }
    }

    /// Returns the layers: name, outputs, inputs.
    fn layers<'a>(
        first: usize,
        extents: impl Iterator<Item = usize> + Clone + 'a,
        name: impl Fn(usize) -> String + 'a,
    ) -> impl Iterator<Item = (String, usize, usize)> + 'a {
        let inputs = [first].into_iter().chain(extents.clone());
        extents.zip(inputs).enumerate().map(move |(index, (outputs, inputs))| (name(index), outputs, inputs))
    }

    fn bottom_layers(&self) -> impl Iterator<Item = (String, usize, usize)> {
        Self::layers(DENSE, self.bottom.iter().copied(), |index| self.interaction.bottom_layer(index))
    }

    fn top_layers(&self) -> impl Iterator<Item = (String, usize, usize)> {
        let (extents, last) = (self.top.iter().copied().chain([1]), self.top.len());
        Self::layers(self.features(), extents, move |index| self.interaction.top_layer(index, index == last))
    }
}

/// Returns the pairs of features whose products count: each with those before it, the numbers being the first.
fn pairs() -> impl Iterator<Item = (usize, usize)> {
    (0..=TABLES).flat_map(|one| (0..one).map(move |other| (one, other)))
}

impl Model for Sizes {
    fn weights(&self) -> ModelRecipe {
        let mut recipe = ModelRecipe::new(self.name);
        for (name, outputs, inputs) in self.bottom_layers() {
            let gain = if inputs == DENSE { OF_COUNTS } else { BEFORE_RELU };
            recipe.add_linear(&name, outputs, inputs, gain);
        }
        for (index, (rows, hots)) in self.rows().into_iter().zip(self.interaction.hots()).enumerate() {
            let scale = match self.interaction {
                // Products of two rows have the deviation 1.
                Interaction::Dots => steady(self.width()).sqrt() * DOT_SCALE,
                // Sums of rows have it.
                Interaction::Cross { .. } => steady(hots),
            };
            recipe.add(&self.interaction.table(index), &[rows, self.width()], scale);
        }
        if let Interaction::Cross { layers, rank } = self.interaction {
            let features = self.features();
            for [down, up, bias] in (0..layers).map(Interaction::cross_layer) {
                recipe.add(&down, &[rank, features], steady(features));
                recipe.add(&up, &[features, rank], OF_CROSS * steady(rank));
                recipe.add(&bias, &[features], 0.125);
            }
        }
        for (name, outputs, inputs) in self.top_layers() {
            recipe.add_linear(&name, outputs, inputs, if outputs == 1 { OF_LOGIT } else { BEFORE_RELU });
        }
        recipe
    }

    fn inputs(&self) -> Vec<InputTensor> {
        let numbers = InputValues::Uniform { scale: 2, lengths: None };
        let dense = InputTensor { name: "dense", element_type: F32, shape: vec![DENSE], values: numbers };
        let categories = |name, count| {
            let values = InputValues::Integers { count: CATEGORY_MAX };
            InputTensor { name, element_type: I32, shape: vec![count], values }
        };
        let categories: Vec<_> = match self.interaction {
            Interaction::Dots => vec![categories("categories", TABLES)],
            Interaction::Cross { .. } => {
                CATEGORIES.into_iter().zip(HOTS_V2).map(|(name, hots)| categories(name, hots)).collect()
            }
        };
        [dense].into_iter().chain(categories).collect()
    }

    fn compute(&self, net: &mut Net) {
        let mut dense = "dense".to_owned();
        for (name, ..) in self.bottom_layers() {
            dense = layer(net, &name, &dense);
            dense = net.node("Relu", &format!("{name}.relu"), &[&dense], &[]);
        }
        let mut x = match self.interaction {
            Interaction::Dots => self.dots(net, &dense),
            Interaction::Cross { layers, .. } => self.cross(net, &dense, layers),
        };
        for (name, outputs, _) in self.top_layers() {
            x = layer(net, &name, &x);
            x = match outputs {
                1 => net.node("Sigmoid", "probability", &[&x], &[]),
                _ => net.node("Relu", &format!("{name}.relu"), &[&x], &[]),
            };
        }
        let last = net.ints(&[1]);
        net.node("Squeeze", "predictions", &[&x, &last], &[]);
        net.output("predictions", &[]);
    }
}

/// Bound of uniform values whose products over a row of `n` have the deviation 1, by the root of that of
/// [`steady`]: `sqrt(3) / n^(1/4)`.
const DOT_SCALE: f32 = 1.316;

impl Sizes {
    /// Returns the rows of the tables that the categories of the input `name` select, each `[row, hots, width]`.
    /// `tables` are the tables of its columns.
    fn looked_up(&self, net: &mut Net, name: &str, tables: std::ops::Range<usize>) -> Vec<String> {
        let rows: Vec<i64> = self.rows()[tables.clone()].iter().map(|rows| *rows as i64).collect();
        let wide = net.node("Cast", &format!("{name}.wide"), &[name], &[("to", INT64.into())]);
        let counts = net.ints(&rows);
        let known = net.node("Mod", &format!("{name}.known"), &[&wide, &counts], &[]);
        let columns = match tables.len() {
            1 => vec![known],
            count => net.split(&format!("{name}.columns"), &known, 1, &vec![1; count]),
        };
        let of_table = |(table, column): (usize, &String)| {
            let weight = net.weight(&self.interaction.table(table));
            net.node("Gather", &format!("embedding.{table}"), &[&weight, column], &[("axis", 0.into())])
        };
        tables.zip(&columns).map(of_table).collect()
    }

    /// Concatenates the numbers and the products of all pairs.
    fn dots(&self, net: &mut Net, dense: &str) -> String {
        let (one, width) = (net.ints(&[1]), self.width() as i64);
        let dense_row = net.node("Unsqueeze", "dense.row", &[dense, &one], &[]);
        let embeddings = self.looked_up(net, "categories", 0..TABLES);
        let all: Vec<&str> = [&dense_row].into_iter().chain(&embeddings).map(String::as_str).collect();
        let rows = net.node("Concat", "features", &all, &[("axis", 1.into())]);
        let columns = net.node("Transpose", "features.turned", &[&rows], &[("perm", [0, 2, 1].into())]);
        let products = net.node("MatMul", "products", &[&rows, &columns], &[]);
        let features = TABLES as i64 + 1;
        let flat = net.ints(&[-1, features * features]);
        let flat = net.node("Reshape", "products.flat", &[&products, &flat], &[]);
        let places: Vec<i64> = pairs().map(|(one, other)| one as i64 * features + other as i64).collect();
        let places = net.ints(&places);
        let products = net.node("Gather", "products.of_pairs", &[&flat, &places], &[("axis", 1.into())]);
        debug_assert_eq!(self.features() as i64, width + pairs().count() as i64);
        net.node("Concat", "interaction", &[dense, &products], &[("axis", 1.into())])
    }

    /// Returns all features side by side through the layers `x0 * (W (V x) + b) + x`.
    fn cross(&self, net: &mut Net, dense: &str, layers: usize) -> String {
        let one = net.ints(&[1]);
        let mut features = vec![dense.to_owned()];
        for (table, input) in CATEGORIES.into_iter().enumerate() {
            let rows = self.looked_up(net, input, table..table + 1).remove(0);
            let sum = [("keepdims", 0.into())];
            features.push(net.node("ReduceSum", &format!("bag.{table}"), &[&rows, &one], &sum));
        }
        let features: Vec<&str> = features.iter().map(String::as_str).collect();
        let first = net.node("Concat", "features", &features, &[("axis", 1.into())]);
        let mut x = first.clone();
        for index in 0..layers {
            let name = format!("cross.{index}");
            let [down, up, bias] = Interaction::cross_layer(index).map(|part| net.weight(&part));
            let transposed = [("transB", 1.into())];
            let low = net.node("Gemm", &format!("{name}.low"), &[&x, &down], &transposed);
            let high = net.node("Gemm", &format!("{name}.high"), &[&low, &up, &bias], &transposed);
            let crossed = net.node("Mul", &format!("{name}.crossed"), &[&first, &high], &[]);
            x = net.node("Add", &name, &[&crossed, &x], &[]);
        }
        x
    }
}

/// Returns a linear layer on rows.
fn layer(net: &mut Net, name: &str, x: &str) -> String {
    let [weight, bias] = ["weight", "bias"].map(|part| net.weight(&format!("{name}.{part}")));
    net.node("Gemm", name, &[x, &weight, &bias], &[("transB", 1.into())])
}
