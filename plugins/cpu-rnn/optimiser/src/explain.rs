//! A plan in words: the search space of each layer, step by step of the paper, and the measured times.

use std::{fmt::Write, time::Duration};

use crate::paper::fusion::FusedProduct;
use crate::paper::parallelism::groups;
use crate::paper::partition::{Extents, Partition, hidden_product, movement};
use crate::paper::pruning::{Pruned, Rule};
use crate::plan::{LayerPlan, Measured, ModelPlan, PlanOrigin};
use crate::predict::{flop, moved, partition_of, predict};
use crate::search::{Addition, Candidate, FusedPattern, SearchSpace};
use proctor_rnn_layer::{
    Cell, Chunk, Directions, GruReset, LayerShape, Machine, Mapping, Precision, RnnActivation, Schedule,
    Sweep,
};

/// Number of partitions shown of each degree.
const PARTITIONS_SHOWN: usize = 4;

/// Adds a line to the text: a word in the margin, then a format with its arguments.
macro_rules! line {
    ($text:expr, $margin:expr, $($content:tt)+) => {
        // Writing to a string cannot fail.
        let _ = writeln!($text, "  {:<12} {}", $margin, format_args!($($content)+));
    };
}

/// Returns one line: where the schedules come from and how long that took.
#[must_use]
pub fn summary(plan: &ModelPlan) -> String {
    let ms = |time: Duration| format!("{:.1} ms", time.as_secs_f64() * 1e3);
    let kept_in = |path: &std::path::Path| path.display().to_string();
    match &plan.origin {
        PlanOrigin::Cached(path) => format!(
            "plan loaded in {} from {}; it was calibrated in {}",
            ms(plan.taken),
            kept_in(path),
            ms(plan.calibration)
        ),
        PlanOrigin::Calibrated(Some(path)) => {
            format!("plan calibrated in {}, kept in {}", ms(plan.calibration), kept_in(path))
        }
        PlanOrigin::Calibrated(None) => format!("plan calibrated in {}, not kept", ms(plan.calibration)),
        PlanOrigin::Improved { path, layers } => format!(
            "plan loaded from {}; of {} layers {layers} were not sure and measured again, in {}",
            kept_in(path),
            plan.layers.len(),
            ms(plan.calibration)
        ),
        PlanOrigin::Analytic => format!("plan computed in {}, nothing was measured", ms(plan.taken)),
    }
}

/// Returns one sentence: why a layer, by its position, is measured again, when the shortest of its real calls takes
/// this many nanoseconds and this [rival](LayerPlan::doubted_by) was faster.
#[must_use]
pub fn slower(plan: &ModelPlan, layer: usize, shortest_ns: u64, rival: &Measured) -> String {
    let own = &plan.layers[layer];
    format!(
        "{}, batch {}: a call by its schedule ({}) takes {} at the shortest, but {} when it was measured, and {} takes {}; \
         the next load measures again",
        plan.key.layers[layer].name,
        plan.key.layers[layer].shape.batch,
        describe_schedule(&own.schedule),
        time(shortest_ns),
        own.figure_ns().map_or_else(|| "unknown".to_owned(), time),
        describe_schedule(&rival.schedule),
        time(rival.figure_ns)
    )
}

/// Returns the whole plan: the machine, where the plan comes from, then each layer. Layers of one shape are explained
/// once.
#[must_use]
pub fn explain(plan: &ModelPlan, machine: &Machine) -> String {
    let mut text = String::new();
    line!(text, "machine", "{}", machine.identity());
    for assumed in &machine.assumed {
        line!(text, "", "{assumed}");
    }
    line!(text, "engine", "{}", plan.key.engine);
    line!(text, "plan", "{}", summary(plan));
    for warning in &plan.warnings {
        line!(text, "warning", "{warning}");
    }
    let layers = &plan.key.layers;
    for (at, layer) in layers.iter().enumerate() {
        text.push('\n');
        let earlier = layers[..at].iter().find(|other| other.shape == layer.shape);
        match earlier {
            Some(other) => text.push_str(&format!("{}: as {}\n", layer.name, other.name)),
            None => explain_layer(&mut text, &layer.name, &plan.layers[at], &plan.searches[at], machine),
        }
    }
    text
}

fn explain_layer(text: &mut String, name: &str, plan: &LayerPlan, search: &SearchSpace, machine: &Machine) {
    text.push_str(&format!("{name}: {}\n", describe_shape(&search.shape)));
    explain_dag(text, search);
    explain_phases(text, search);
    explain_fusion(text, search, &plan.schedule);
    explain_parallelism(text, search);
    explain_partitions(text, search, machine, &plan.schedule);
    explain_search(text, search);
    explain_choice(text, search, machine, plan);
    explain_measured(text, search, machine, plan);
}

fn explain_dag(text: &mut String, search: &SearchSpace) {
    let SearchSpace { shape, dag, .. } = search;
    let (gates, directions) = (shape.cell.gate_count(), shape.directions.count());
    let products = dag.products.len() * directions;
    let within = dag.dependences.iter().filter(|edge| edge.steps_back == 0).count();
    let also = if within > 0 { ", some on products of their own step" } else { "" };
    line!(
        text,
        "MM-DAG",
        "{products} products a step, {} in all, {:.3} MFLOP: {gates} W x that depend on nothing, {gates} U h that \
         depend on the step before{also}{}",
        products * shape.time,
        flop(shape) / 1e6,
        if directions == 2 { "; twice, without an edge between the directions" } else { "" }
    );
}

fn explain_phases(text: &mut String, search: &SearchSpace) {
    let Pruned { considered, by_rule, kept } = &search.pruned;
    let by_rule: Vec<_> = Rule::ALL
        .iter()
        .zip(by_rule)
        .filter(|(_, count)| **count > 0)
        .map(|(rule, count)| format!("{count} by {}", rule.name()))
        .collect();
    let pruned = considered - kept.len();
    line!(
        text,
        "phases",
        "{considered} schedules that treat every step alike, as rule i wants; {pruned} pruned: {}; {} left",
        by_rule.join(", "),
        kept.len()
    );
    let executed = search.patterns.iter().filter(|pattern| pattern.inputs.is_some());
    for (number, FusedPattern { pattern, .. }) in executed.enumerate() {
        line!(text, "", "schedule {}: {}", number + 1, pattern.describe(&search.dag));
    }
}

/// Writes the fused products of the pattern from which a schedule descends.
fn explain_fusion(text: &mut String, search: &SearchSpace, schedule: &Schedule) {
    // A plan may be older than the search space only where a cached plan was written by hand.
    let Some(candidate) = search.candidate(schedule) else { return };
    let mut margin = "fusion";
    for FusedProduct { products, spans_sequence, extents } in
        search.patterns[candidate.pattern].phases.iter().flatten()
    {
        let names: Vec<_> = products.iter().map(ToString::to_string).collect();
        let when = if *spans_sequence { "all steps at once" } else { "at each step" };
        let Extents { i: rows, k: inner, j: columns, .. } = extents;
        line!(
            text,
            margin,
            "{}: one product [{rows}, {inner}] x [{inner}, {columns}], {when}",
            names.join(", ")
        );
        margin = "";
    }
}

fn explain_parallelism(text: &mut String, search: &SearchSpace) {
    let degrees: Vec<_> = search.degrees.iter().map(ToString::to_string).collect();
    let mut ways: Vec<String> = Vec::new();
    for cores in search.degrees.iter().rev() {
        ways.extend(groups(search.shape.directions.count(), *cores).iter().map(ToString::to_string));
    }
    line!(text, "parallelism", "degrees {}: {}", degrees.join(", "), ways.join("; "));
}

/// Writes the size of the search: the paper's part, additions to it, and the cuts of our own rules.
fn explain_search(text: &mut String, search: &SearchSpace) {
    let of_paper = search.of_paper().count();
    line!(
        text,
        "search",
        "{} schedules x {} threads = {} configurations of the paper; {of_paper} of them are candidates",
        search.pruned.kept.len(),
        search.threads_max,
        search.paper_configurations()
    );
    let beyond = |addition: Addition| {
        let having = |one: &&Candidate| one.additions.contains(&addition);
        match search.candidates.iter().filter(having).count() {
            0 => None,
            count => Some(format!("{count} with {}", addition.name())),
        }
    };
    let beyond: Vec<_> = Addition::ALL.into_iter().filter_map(beyond).collect();
    let count = search.candidates.len() - of_paper;
    if count > 0 {
        line!(text, "", "{count} more candidates go beyond the paper: {}", beyond.join(", "));
    }
    let mut margin = "left out";
    for (rule, count) in &search.left_out {
        let [objects, reason] = rule.words();
        line!(text, margin, "{count} {objects}: {reason}");
        margin = "";
    }
}

fn explain_partitions(text: &mut String, search: &SearchSpace, machine: &Machine, schedule: &Schedule) {
    let shape = &search.shape;
    let product = hidden_product(shape);
    let [a, b, c] = [product.a_bytes(), product.b_bytes(), product.c_bytes()].map(|size| bytes(size as u64));
    line!(
        text,
        "partition",
        "U h of a direction: |A| {a}, |B| {b}, |C| {c}; |L2| {}; {} steps",
        bytes(machine.l2_bytes as u64),
        shape.time
    );
    let chosen = partition_of(schedule);
    let mut rows =
        vec![["X_i X_j X_k", "cores", "weights of a core", "moved L3 to L2", ""].map(str::to_owned).to_vec()];
    let mut shown: Vec<Partition> = search.candidates.iter().map(|one| partition_of(&one.schedule)).collect();
    shown.push(chosen);
    shown.sort_by_key(|part| (part.degree(), part.x_k, part.x_i));
    shown.dedup();
    for part in shown {
        let moved = movement(&product, &part, shape.time, machine.l2_bytes, Sweep::Forward);
        let note = if part == chosen { "chosen" } else { "" };
        rows.push(partition_row(&product, &part, moved.total_bytes, machine, note));
    }
    let mut of_degree = std::collections::HashMap::new();
    for one in &search.excluded {
        let count = of_degree.entry(one.partition.degree()).or_insert(0_usize);
        *count += 1;
        if *count <= PARTITIONS_SHOWN {
            let note = format!("not executed: {}", one.rule.words()[1]);
            rows.push(partition_row(&product, &one.partition, one.movement.total_bytes, machine, &note));
        }
    }
    table(text, &rows);
}

fn partition_row(
    product: &Extents,
    part: &Partition,
    moved: u64,
    machine: &Machine,
    note: &str,
) -> Vec<String> {
    let block = part.block_bytes(product);
    let fits = if block <= machine.l2_bytes { "stay in L2" } else { "do not fit L2" };
    vec![
        format!("{} {} {}", part.x_i, part.x_j, part.x_k),
        part.degree().to_string(),
        format!("{}, {fits}", bytes(block as u64)),
        bytes(moved),
        note.to_owned(),
    ]
}

fn explain_choice(text: &mut String, search: &SearchSpace, machine: &Machine, plan: &LayerPlan) {
    let (shape, schedule) = (&search.shape, &plan.schedule);
    line!(text, "chosen", "{}", describe_schedule(schedule));
    let moved = moved(shape, machine, schedule);
    line!(
        text,
        "",
        "moves {} from L3 to L2 for U h, {} of it weights",
        bytes(moved.total_bytes),
        bytes(moved.weight_bytes)
    );
    if let Some(own) = plan.measured.iter().find(|one| one.schedule == *schedule) {
        let gflops = flop(shape) / own.figure_ns.max(1) as f64;
        line!(
            text,
            "",
            "{} a call, {gflops:.1} GFLOP/s; {}",
            time(own.figure_ns),
            describe_sureness(plan, own.blocks)
        );
    }
}

/// Returns how sure the choice is, in words.
fn describe_sureness(plan: &LayerPlan, blocks: usize) -> String {
    let share = 100.0 * plan.sure;
    let fate = if plan.is_settled() { "" } else { ": not sure, so the next load measures again" };
    if plan.sure == 0.0 {
        return format!("measured in {blocks} blocks{fate}");
    }
    format!("as good as the fastest in {share:.0} % of {blocks} blocks{fate}")
}

fn explain_measured(text: &mut String, search: &SearchSpace, machine: &Machine, plan: &LayerPlan) {
    if plan.measured.is_empty() {
        line!(text, "measured", "nothing; the prediction decides");
        return;
    }
    line!(
        text,
        "measured",
        "{} of {} candidates",
        plan.measured.len(),
        plan.measured.len() + plan.unmeasured.len()
    );
    let head = ["schedule", "predicted", "measured", "ratio", "shortest", "blocks", ""];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(plan.measured.iter().map(|one| {
        let predicted = predict(&search.shape, machine, &one.schedule);
        let note = if one.schedule == plan.schedule { "chosen" } else { &format!("{:.2}x", one.behind) };
        let ratio = format!("{:.2}", one.figure_ns as f64 / predicted);
        let predicted = time(predicted.round() as u64);
        let figures = [predicted, time(one.figure_ns), ratio, time(one.min_ns), one.blocks.to_string()];
        row(&one.schedule, figures, note)
    }));
    rows.extend(plan.unmeasured.iter().map(|schedule| {
        let predicted = time(predict(&search.shape, machine, schedule).round() as u64);
        let [figure, ratio, shortest, blocks] = ["-", "-", "-", "0"].map(str::to_owned);
        row(schedule, [predicted, figure, ratio, shortest, blocks], "not measured: out of time, or refused")
    }));
    table(text, &rows);
}

/// Returns a row of the table of measurements.
fn row(schedule: &Schedule, figures: [String; 5], note: &str) -> Vec<String> {
    [describe_schedule(schedule)].into_iter().chain(figures).chain([note.to_owned()]).collect()
}

fn table(text: &mut String, rows: &[Vec<String>]) {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width =
        |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    for row in rows {
        let cells: Vec<_> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        let _ = writeln!(text, "    {}", cells.join("  ").trim_end());
    }
}

/// Returns a layer in a few words: `lstm, bidirectional, input 64, hidden 256, batch 1, 100 steps, f32`.
#[must_use]
pub fn describe_shape(shape: &LayerShape) -> String {
    let cell = match shape.cell {
        Cell::Lstm => "lstm",
        Cell::Gru(GruReset::AfterProduct) => "gru (reset after the product)",
        Cell::Gru(GruReset::BeforeProduct) => "gru (reset before the product)",
        Cell::Rnn(RnnActivation::Tanh) => "rnn (tanh)",
        Cell::Rnn(RnnActivation::Relu) => "rnn (relu)",
    };
    let directions = match shape.directions {
        Directions::Forward => "forward",
        Directions::Reverse => "reverse",
        Directions::Bidirectional => "bidirectional",
    };
    let precision = match shape.precision {
        Precision::F32 => "f32",
        Precision::Bf16 => "bf16",
        Precision::Int8 => "int8",
    };
    let LayerShape { input, hidden, batch, time, .. } = shape;
    format!("{cell}, {directions}, input {input}, hidden {hidden}, batch {batch}, {time} steps, {precision}")
}

/// Returns a schedule in a few words: `columns on 2 threads, W x of 10 steps at a time, zig-zag, primed`.
#[must_use]
pub fn describe_schedule(schedule: &Schedule) -> String {
    let threads = schedule.threads;
    let mapping = match schedule.mapping {
        Mapping::Single => "1 thread".to_owned(),
        Mapping::Columns => format!("columns on {threads} threads"),
        Mapping::Rows => format!("rows on {threads} threads"),
        Mapping::Directions => format!("directions on {threads} threads"),
        Mapping::Phases => format!("phases on {threads} threads"),
    };
    let chunk = match schedule.chunk {
        Chunk::WholeSequence => "all W x first".to_owned(),
        Chunk::Steps(1) => "W x at its step".to_owned(),
        Chunk::Steps(steps) => format!("W x of {steps} steps at a time"),
    };
    let sweep = if schedule.sweep == Sweep::ZigZag { ", zig-zag" } else { "" };
    let primed = if schedule.primed { ", primed" } else { "" };
    format!("{mapping}, {chunk}{sweep}{primed}")
}

fn bytes(count: u64) -> String {
    const UNITS: [(&str, f64); 4] = [("GiB", 1073741824.0), ("MiB", 1048576.0), ("KiB", 1024.0), ("B", 1.0)];
    let unit = UNITS.iter().find(|(_, size)| count as f64 >= *size);
    match unit {
        Some((name, size)) if *size > 1.0 => format!("{:.1} {name}", count as f64 / size),
        _ => format!("{count} B"),
    }
}

fn time(ns: u64) -> String {
    match ns as f64 {
        ns if ns < 1e3 => format!("{ns:.0} ns"),
        ns if ns < 1e6 => format!("{:.2} us", ns / 1e3),
        ns => format!("{:.3} ms", ns / 1e6),
    }
}

#[cfg(test)]
mod tests;
