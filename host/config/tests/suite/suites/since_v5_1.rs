//! The tables of the result checkers of v5.1, v6.0 and v6.1, which these rounds are followed by.

use std::collections::BTreeSet;

use proctor_config::{RoundRow, ServerBound, percent, round_rules};
use proctor_loadgen::Rules;

use super::tables::{ids, row, scenarios};

const ROUNDS: [&str; 3] = ["v5.1", "v6.0", "v6.1"];

/// A benchmark of a round: id; required and optional scenarios in data centers; required ones on the edge. A suite
/// without any does not have it.
type Suites = (&'static str, &'static str, &'static str, &'static str);

#[rustfmt::skip]
const V5_1: [Suites; 15] = [
    ("resnet50", "", "", "SS MS O"),
    ("retinanet", "S O", "", "SS MS O"),
    ("bert", "", "", "SS O"),
    ("dlrm-v2", "S O", "", ""),
    ("3d-unet-kits19", "O", "", "SS O"),
    ("llama3.1-8b", "O", "S I", ""),
    ("llama3.1-8b-edge", "", "", "SS O"),
    ("llama2-70b", "O", "S I", ""),
    ("sdxl", "S O", "", "SS O"),
    ("mixtral-8x7b", "S O", "", ""),
    ("llama3.1-405b", "O", "S I", ""),
    ("rgat", "O", "", ""),
    ("pointpainting", "", "", "SS"),
    ("deepseek-r1", "S O", "", ""),
    ("whisper", "O", "", "O"),
];

#[rustfmt::skip]
const V6_0: [Suites; 18] = [
    ("resnet50", "", "", "SS MS O"),
    ("bert", "", "", "SS O"),
    ("3d-unet-kits19", "O", "", "SS O"),
    ("llama3.1-8b", "O", "S I", ""),
    ("llama3.1-8b-edge", "", "", "SS O"),
    ("llama2-70b", "O", "S I", ""),
    ("sdxl", "", "", "SS O"),
    ("mixtral-8x7b", "S O", "", ""),
    ("llama3.1-405b", "O", "S I", ""),
    ("rgat", "O", "", ""),
    ("pointpainting", "", "", "SS"),
    ("deepseek-r1", "O", "S I", ""),
    ("whisper", "O", "", "O"),
    ("gpt-oss-120b", "O", "S I", ""),
    ("wan-2.2-t2v-a14b", "SS O", "", ""),
    ("qwen3-vl-235b-a22b", "S O", "", ""),
    ("dlrm-v3", "S O", "", ""),
    ("yolo", "", "", "SS MS O"),
];

#[rustfmt::skip]
const V6_1: [Suites; 18] = [
    ("resnet50", "", "", "SS MS O"),
    ("bert", "", "", "SS O"),
    ("3d-unet-kits19", "O", "", "SS O"),
    ("llama3.1-8b", "O", "S I", ""),
    ("llama3.1-8b-edge", "", "", "SS O"),
    ("llama2-70b", "O", "S I", ""),
    ("sdxl", "", "", "SS O"),
    ("rgat", "O", "", ""),
    ("deepseek-r1", "O", "S I", ""),
    ("whisper", "O", "", "O"),
    ("gpt-oss-120b", "O", "S I", ""),
    ("wan-2.2-t2v-a14b", "SS O", "", ""),
    ("qwen3-vl-235b-a22b", "O", "S I", ""),
    ("qwen3.6-27b", "", "", "SS"),
    ("dlrm-v3", "S O", "", ""),
    ("yolo", "", "", "SS MS O"),
    ("e2e-rag-qna", "O", "", ""),
    ("e2e-rag-db", "O", "", ""),
];

/// A figure: its name; the least value for each target, or one for all; the greatest.
type Figure = (&'static str, &'static [f64], Option<f64>);

/// Numbers of a benchmark in some rounds: id; rounds; fewest samples of the performance set, samples of the accuracy
/// run, and fewest of Offline; greatest bound of Server in ms; targets in percent; figures.
type Numbers =
    (&'static str, &'static str, (u64, u64, Option<u64>), Option<u64>, &'static [f64], &'static [Figure]);

const ROUGE: [Figure; 3] = [
    ("rouge1", &[43.986_888, 44.386_768_8], None),
    ("rouge2", &[21.814_848, 22.013_164_8], None),
    ("rougeL", &[28.330_038, 28.587_583_8], None),
];
const LLAMA2_TOKENS: Figure = ("tokens_per_sample", &[265.005], Some(323.895));

#[rustfmt::skip]
const NUMBERS: [Numbers; 24] = [
    ("resnet50", "v5.1 v6.0 v6.1", (1024, 50_000, Some(24_576)), Some(15), &[99.0], &[("top1", &[75.6954], None)]),
    ("retinanet", "v5.1", (64, 24_781, Some(24_576)), Some(100), &[99.0], &[("map", &[0.371_745], None)]),
    ("bert", "v5.1 v6.0 v6.1", (10_833, 10_833, Some(10_833)), None, &[99.0, 99.9], &[("f1", &[89.96526, 90.783_126], None)]),
    ("dlrm-v2", "v5.1", (204_800, 330_067, Some(24_576)), Some(60), &[99.0, 99.9], &[("auc", &[79.5069, 80.22969], None)]),
    ("3d-unet-kits19", "v5.1 v6.0 v6.1", (43, 43, Some(43)), None, &[99.0, 99.9], &[("dice", &[0.853_083, 0.860_838_3], None)]),
    ("llama3.1-8b", "v5.1 v6.0 v6.1", (13_368, 13_368, Some(13_368)), Some(20_000), &[99.0], &[
        ("rouge1", &[38.391_408], None), ("rouge2", &[15.748_425], None), ("rougeL", &[24.250_743], None), ("rougeLsum", &[35.43507], None),
        ("gen_len", &[7_350_879.6], Some(8_984_408.4)),
    ]),
    ("llama3.1-8b-edge", "v5.1 v6.0 v6.1", (5000, 5000, Some(5000)), None, &[99.0], &[
        ("rouge1", &[38.6694], None), ("rouge2", &[15.953_553], None), ("rougeL", &[24.391_125], None), ("rougeLsum", &[35.76276], None),
        ("gen_len", &[2_746_001.7], Some(3_356_224.3)),
    ]),
    ("llama2-70b", "v5.1 v6.0", (24_576, 24_576, Some(24_576)), Some(20_000), &[99.0, 99.9], &[ROUGE[0], ROUGE[1], ROUGE[2], LLAMA2_TOKENS]),
    ("llama2-70b", "v6.1", (24_576, 24_576, Some(24_576)), Some(20_000), &[99.9], &[
        ("rouge1", &[44.386_768_8], None), ("rouge2", &[22.013_164_8], None), ("rougeL", &[28.587_583_8], None), LLAMA2_TOKENS,
    ]),
    ("sdxl", "v5.1 v6.0 v6.1", (5000, 5000, Some(5000)), Some(20_000), &[], &[
        ("fid", &[23.010_857_58], Some(23.950_076_26)), ("clip", &[31.686_318_73], Some(31.813_318_01)),
    ]),
    ("mixtral-8x7b", "v5.1 v6.0", (15_000, 15_000, Some(15_000)), Some(20_000), &[99.0], &[
        ("rouge1", &[45.142_911], None), ("rouge2", &[23.119_074], None), ("rougeL", &[30.156_192], None),
        ("gsm8k", &[72.9234], None), ("mbxp", &[59.5584], None), ("tokens_per_sample", &[130.356], Some(160.49)),
    ]),
    ("llama3.1-405b", "v5.1 v6.0", (8313, 8313, Some(8313)), Some(60_000), &[99.0], &[
        ("rougeL", &[21.449_934], None), ("exact_match", &[89.232_165], None), ("tokens_per_sample", &[616.212], Some(753.148)),
    ]),
    ("rgat", "v5.1 v6.0 v6.1", (788_379, 788_379, Some(788_379)), None, &[99.0], &[("accuracy", &[72.1314], None)]),
    ("pointpainting", "v5.1 v6.0", (1024, 39_987, None), None, &[99.9], &[("map", &[0.541_957_5], None)]),
    ("deepseek-r1", "v5.1 v6.0 v6.1", (4388, 4388, Some(4388)), Some(60_000), &[99.0], &[
        ("exact_match", &[80.544_618], None), ("tokens_per_sample", &[3497.60466], Some(4274.85014)),
    ]),
    ("whisper", "v5.1 v6.0 v6.1", (1633, 1633, Some(1633)), None, &[99.0], &[("word-accuracy", &[96.953_571], None)]),
    ("gpt-oss-120b", "v6.0 v6.1", (6396, 4395, Some(6396)), Some(60_000), &[99.0], &[
        ("exact_match", &[82.2987], None), ("tokens_per_sample", &[], Some(10_998.9)),
    ]),
    ("wan-2.2-t2v-a14b", "v6.0 v6.1", (50, 248, Some(50)), None, &[99.0], &[("vbench_score", &[69.7752], None)]),
    ("qwen3-vl-235b-a22b", "v6.0 v6.1", (48_289, 48_289, Some(48_289)), Some(12_000), &[99.0], &[("f1_hierarchical", &[0.782_397], None)]),
    ("qwen3.6-27b", "v6.1", (995, 995, None), None, &[99.0], &[("bfcl", &[85.3677], None)]),
    ("dlrm-v3", "v6.0 v6.1", (349_823, 349_823, Some(349_823)), Some(60_000), &[99.9], &[
        ("normalized_entropy", &[0.866_003_13], None), ("accuracy", &[0.695_813_49], None), ("gauc", &[0.785_843_37], None),
    ]),
    ("yolo", "v6.0 v6.1", (64, 1525, Some(1525)), None, &[95.0, 99.0], &[("map", &[50.73, 52.866], None)]),
    ("e2e-rag-qna", "v6.1", (824, 824, Some(824)), None, &[], &[("e2e_accuracy", &[33.95], None)]),
    ("e2e-rag-db", "v6.1", (2515, 2515, Some(2515)), None, &[], &[("e2e_accuracy", &[98.0], None)]),
];

/// Returns the value of the checker, if the row follows something else. Interactive has counts of its own.
fn of_checker(row: &RoundRow, about: &str) -> Option<f64> {
    let mut of_row = row.checker.iter().filter(|it| !it.about.starts_with("scenario Interactive"));
    of_row.find(|it| it.about.contains(about)).map(|it| it.checker.to_string().parse().unwrap())
}

fn count_of_checker(row: &RoundRow, about: &str) -> Option<u64> {
    of_checker(row, about).map(|count| count as u64)
}

fn is_close(found: Option<f64>, wanted: Option<f64>) -> bool {
    match (found, wanted) {
        (Some(found), Some(wanted)) => (found / wanted - 1.0).abs() < 1e-12,
        (None, None) => true,
        _ => false,
    }
}

#[test]
fn the_suites_are_those_of_the_tables() {
    for (round, table) in [("v5.1", &V5_1[..]), ("v6.0", &V6_0[..]), ("v6.1", &V6_1[..])] {
        let having = |suite: fn(&Suites) -> &'static str| -> BTreeSet<_> {
            table.iter().filter(|row| !suite(row).is_empty()).map(|row| row.0).collect()
        };
        assert_eq!(ids(round, Some("datacenter")), having(|row| row.1), "{round}");
        assert_eq!(ids(round, Some("edge")), having(|row| row.3), "{round}");
        for (id, datacenter, optional, edge) in table {
            for (suite, required, optional) in [("datacenter", datacenter, *optional), ("edge", edge, "")] {
                if required.is_empty() {
                    continue;
                }
                let row = row(id, round);
                let found = &row.suites[suite];
                assert_eq!(found.required, scenarios(required), "{round} {id} {suite}");
                assert_eq!(found.optional, scenarios(optional), "{round} {id} {suite}");
                assert_eq!(found.target_ratios, row.target_ratios, "{round} {id} {suite}");
            }
        }
    }
}

#[test]
fn the_numbers_are_those_of_the_tables() {
    for round in ROUNDS {
        let has_numbers = NUMBERS.iter().filter(|row| row.1.split(' ').any(|it| it == round));
        assert_eq!(ids(round, None), has_numbers.map(|row| row.0).collect(), "{round}");
    }
    for (id, rounds, (performance, accuracy, offline), server_ms, targets, figures) in NUMBERS {
        for round in rounds.split(' ') {
            let row = row(id, round);
            let of_table = count_of_checker(row, "QSL size").unwrap_or(row.performance_sample_count);
            assert_eq!(of_table, performance, "{round} {id}");
            let of_table =
                count_of_checker(row, "samples of the accuracy run").unwrap_or(row.total_sample_count);
            assert_eq!(of_table, accuracy, "{round} {id}");
            if let Some(offline) = offline {
                let of_table = count_of_checker(row, "samples of Offline").or(row.offline_samples);
                assert_eq!(of_table.unwrap_or(24_576), offline, "{round} {id}");
            }
            let latency_ms = match row.server {
                Some(ServerBound::Latency { ms }) => Some(ms),
                _ => None,
            };
            let of_table = count_of_checker(row, "configured at most").or(latency_ms);
            assert_eq!(of_table, server_ms, "{round} {id}");
            assert_eq!(row.tail, row.server.map(|_| 0.99), "{round} {id}");

            let share = of_checker(row, "share of the reference");
            let ratios: Vec<_> = share.map_or_else(|| row.target_ratios.clone(), |share| vec![share]);
            assert_eq!(
                ratios.iter().map(|ratio| percent(*ratio)).collect::<Vec<_>>(),
                targets,
                "{round} {id}"
            );
            let names: Vec<_> = row.quality.iter().map(|figure| figure.name.as_str()).collect();
            assert_eq!(names, figures.iter().map(|figure| figure.0).collect::<Vec<_>>(), "{round} {id}");
            for (found, (name, least, most)) in row.quality.iter().zip(figures) {
                let ratios = if ratios.is_empty() { &[1.0][..] } else { &ratios[..] };
                for (at, ratio) in ratios.iter().enumerate() {
                    let wanted = least.get(at).or_else(|| least.last()).copied();
                    assert!(is_close(found.at_least(*ratio), wanted), "{round} {id} {name}: {wanted:?}");
                }
                assert!(is_close(found.at_most(), *most), "{round} {id} {name}: {most:?}");
            }
        }
    }
}

/// Limits of tokens in Server and in Interactive, TTFT and TPOT in ms.
#[test]
fn token_latencies_are_those_of_the_table() {
    for (id, rounds, server, interactive) in [
        ("llama2-70b", "v5.1 v6.0 v6.1", (2000, 200), Some((450, 40))),
        ("mixtral-8x7b", "v5.1 v6.0", (2000, 200), None),
        ("llama3.1-405b", "v5.1 v6.0", (6000, 175), Some((4500, 80))),
        ("llama3.1-8b", "v5.1 v6.0 v6.1", (2000, 100), Some((500, 30))),
        // Interactive came a round later.
        ("deepseek-r1", "v5.1", (2000, 80), None),
        ("deepseek-r1", "v6.0 v6.1", (2000, 80), Some((1500, 15))),
        ("gpt-oss-120b", "v6.0 v6.1", (3000, 80), Some((2000, 15))),
    ] {
        for round in rounds.split(' ') {
            let row = row(id, round);
            let bound = |(ttft_ms, tpot_ms)| ServerBound::Tokens { ttft_ms, tpot_ms };
            assert_eq!(row.server, Some(bound(server)), "{round} {id}");
            assert_eq!(row.interactive, interactive.map(bound), "{round} {id}");
        }
    }
    let qwen = |round| row("qwen3-vl-235b-a22b", round).interactive;
    assert_eq!((qwen("v6.0"), qwen("v6.1")), (None, Some(ServerBound::Latency { ms: 1500 })));
    let tokens = |round: &str| {
        let of_round = ids(round, None).into_iter();
        of_round.filter(|id| matches!(row(id, round).server, Some(ServerBound::Tokens { .. }))).count()
    };
    assert_eq!(ROUNDS.map(tokens), [5, 6, 4]);
}

/// Lists of the checker for systems of both suites, if they differ from the union of the two.
#[test]
fn systems_of_both_suites_are_named_where_they_differ() {
    let named = |round: &'static str| {
        let of_round = ids(round, None).into_iter().filter_map(move |id| {
            let of_row = &row(id, round).checker;
            let found =
                of_row.iter().find(|it| it.about == "required scenarios of a system of both suites")?;
            Some((id, found.checker.to_string()))
        });
        of_round.collect::<Vec<_>>()
    };
    let expected = |rows: &[(&'static str, &str)]| -> Vec<_> {
        rows.iter().map(|(id, words)| (*id, (*words).to_owned())).collect()
    };
    let streams_and_server = "SingleStream, MultiStream, Server, Offline";
    let server = "SingleStream, Server, Offline";
    assert_eq!(named("v5.1"), expected(&[("deepseek-r1", server), ("resnet50", streams_and_server)]));
    assert_eq!(
        named("v6.0"),
        expected(&[
            ("qwen3-vl-235b-a22b", "Offline, and one of Server and Interactive"),
            ("resnet50", streams_and_server),
            ("sdxl", server),
            ("wan-2.2-t2v-a14b", "no entry"),
        ])
    );
    assert_eq!(
        named("v6.1"),
        expected(&[
            ("e2e-rag-db", "no entry"),
            ("e2e-rag-qna", "no entry"),
            ("resnet50", streams_and_server),
            ("sdxl", server),
            ("wan-2.2-t2v-a14b", "no entry"),
        ])
    );
}

/// Rules and checker contradict each other, and the row follows the rules; it has no place for counts and targets of
/// Interactive alone.
#[test]
fn what_the_checker_does_otherwise_is_named() {
    for (id, round, about, rules, checker) in [
        ("dlrm-v3", "v6.0", "QSL size", "34996", "349823"),
        ("dlrm-v3", "v6.1", "QSL size", "34996", "349823"),
        ("dlrm-v3", "v6.1", "latency bound of Server", "80", "60000"),
        ("qwen3.6-27b", "v6.1", "share of the reference", "0.97", "0.99"),
        ("qwen3.6-27b", "v6.1", "name of the figure", "not known here", "mAP"),
        ("qwen3-vl-235b-a22b", "v6.1", "scenario Interactive: samples", "not known here", "8000"),
        ("qwen3-vl-235b-a22b", "v6.1", "scenario Interactive: least f1", "not known here", "0.779922"),
        ("sdxl", "v6.1", "images that a submission has to show", "not known here", "none"),
        ("e2e-rag-qna", "v6.1", "shortest run, in ms", "600000", "none"),
        ("e2e-rag-db", "v6.1", "shortest run, in ms", "600000", "none"),
    ] {
        let found = row(id, round).checker.iter().find(|it| it.about.starts_with(about)).unwrap();
        assert_eq!((found.rules.to_string(), found.checker.to_string()), (rules.into(), checker.into()));
    }
    let dlrm = row("dlrm-v3", "v6.1");
    assert_eq!((dlrm.total_sample_count, dlrm.server), (34_996, Some(ServerBound::Latency { ms: 80 })));
    assert_eq!(row("qwen3.6-27b", "v6.1").target_ratios, [0.97]);
    let abouts = |round: &str| {
        let of_round = &round_rules(round.parse().unwrap()).checker;
        of_round.iter().map(|it| it.about.as_str()).collect::<Vec<_>>()
    };
    let of_all = ["metric of Server", "bounds of tokens that a result of Interactive is judged by"];
    assert_eq!(abouts("v5.1"), of_all);
    assert_eq!(abouts("v6.1"), [&of_all[..], &["folder of a submission's sources"]].concat());
    assert_eq!(abouts("v6.0")[..3], abouts("v6.1"));
    assert!(abouts("v6.0")[3].starts_with("required scenarios of retinanet"));
}

#[test]
fn the_rounds_infer_results_and_generate_as_v5_0() {
    let v5_0 = round_rules(Rules::default());
    for round in ROUNDS {
        assert_eq!(round_rules(round.parse().unwrap()).inferred, v5_0.inferred, "{round}");
        for id in ["llama2-70b", "llama3.1-405b", "mixtral-8x7b", "sdxl"] {
            if ids(round, None).contains(id) {
                assert_eq!(row(id, round).inference, row(id, "v5.0").inference, "{round} {id}");
            }
        }
        for id in ["llama3.1-8b", "llama3.1-8b-edge"] {
            let inference = &row(id, round).inference;
            assert_eq!((inference.min_new_tokens, inference.max_new_tokens), (Some(1), Some(128)), "{id}");
        }
        let tails = ids(round, None).into_iter().filter(|id| row(id, round).single_stream_tail.is_some());
        let expected = if round == "v6.1" { &[][..] } else { &["pointpainting"][..] };
        assert_eq!(tails.collect::<Vec<_>>(), expected, "{round}");
    }
}
