//! Files of the suites with mistakes; each error names the file, the key and what to do.

use std::path::Path;

use proctor_config::{Benchmark, RoundRules, SuiteBenchmark};

const BERT: &str = include_str!("../../../suite/bert.toml");
const V0_7: &str = include_str!("../../../suite/rounds/v0.7.toml");
const GNMT: &str = include_str!("../../../benchmarks/gnmt.toml");

fn replaced(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "{from}");
    text.replacen(from, to, 1)
}

fn lines(error: impl ToString) -> Vec<String> {
    error.to_string().lines().map(ToOwned::to_owned).collect()
}

#[test]
fn a_benchmark_is_checked() {
    for (from, to, expected) in [
        ("needs =", "neds =", "b.toml: neds: unknown key, did you mean \"needs\"?"),
        ("sample = \"one sequence\"", "", "b.toml: sample: missing key"),
        ("sample = \"one sequence\"", "sample = \" \"", "b.toml: sample: empty: say it in a few words"),
        ("schema_version = 1", "schema_version = 2", "b.toml: schema_version: 2: give 1"),
        (
            "[rounds.\"v0.7\"]",
            "[rounds.\"v0.6\"]\n[rounds.\"v0.7\"]",
            "b.toml: rounds.v0.6.source: missing key",
        ),
        (
            "server_ms = 130",
            "server_ms = \"soon\"",
            "b.toml: rounds.v0.7.server_ms: invalid type: found string \"soon\", expected i64",
        ),
        (
            "server_ms = 130",
            "server_ms = 0",
            "b.toml: rounds.v0.7.server_ms: 0: give a whole number from 1 to 4294967295",
        ),
        (
            "server_ms = 130",
            "ttft_ms = 130",
            "b.toml: rounds.v0.7.server_ms: give either server_ms or both ttft_ms and tpot_ms",
        ),
        ("tail = 0.97", "tail = 97.0", "b.toml: rounds.v0.7.tail: 97: give a number above 0 and below 1"),
        (
            "tail = 0.97",
            "",
            "b.toml: rounds.v0.7.tail: missing key: give the share of queries that has to meet the bound",
        ),
        (
            "[rounds.\"v0.7\".suites.edge]",
            "[rounds.\"v0.7\".suites.egde]",
            "b.toml: rounds.v0.7.suites.egde: the round has no such suite, did you mean \"edge\"?",
        ),
        (
            "required = [\"Server\", \"Offline\"]",
            "required = [\"Sever\"]",
            "b.toml: rounds.v0.7.suites.datacenter.required: unknown scenario \"Sever\": give one of SingleStream, \
             MultiStream, Server, Offline, Interactive, did you mean \"Server\"?",
        ),
        (
            "required = [\"Server\", \"Offline\"]",
            "required = [\"Server\", \"Interactive\"]",
            "b.toml: rounds.v0.7.interactive: missing key: give the bounds of the scenario Interactive, which the row has",
        ),
        (
            "server_ms = 130",
            "server_ms = 130\ninteractive = { server_ms = 13 }",
            "b.toml: rounds.v0.7.interactive: leave it out: no suite of the row has the scenario Interactive",
        ),
        (
            "server_ms = 130",
            "server_ms = 130\ninteractive = { latency_ms = 13 }",
            "b.toml: rounds.v0.7.interactive.latency_ms: unknown key",
        ),
        (
            "required = [\"Server\", \"Offline\"]",
            "required = [\"Server\", \"Offline\"]\noptional = [\"Server\"]",
            "b.toml: rounds.v0.7.suites.datacenter.optional: Server is a required one",
        ),
        (
            "target_ratios = [0.99]",
            "target_ratios = [0.95]",
            "b.toml: rounds.v0.7.suites.edge.target_ratios: give some of those of the round",
        ),
        (
            "reference = 90.874 }",
            "reference = 90.874, unit = \"per cent\" }",
            "b.toml: rounds.v0.7.quality.0.unit: \"per cent\": give percent or percent-as-fraction, or leave it out",
        ),
        (
            "reference = 90.874 }",
            "reference = 90.874, at_least = 90.0 }",
            "b.toml: rounds.v0.7.quality.0: give reference alone, reference with at_least_ratio or at_most_ratio, or \
             at_least and at_most, the least not above the greatest",
        ),
        (
            "open_in_rules = [\"dataset\"",
            "open_in_rules = [\"data set\"",
            "b.toml: rounds.v0.7.open_in_rules.0: \"data set\": give one of dataset, performance_sample_count, quality, \
             single_stream_tail, server_ms, ttft_ms, tpot_ms, did you mean \"dataset\"?",
        ),
    ] {
        let error = SuiteBenchmark::parse(&replaced(BERT, from, to), Path::new("b.toml")).unwrap_err();
        assert_eq!(lines(error)[0], expected);
    }
    let text = BERT.replace("\"v0.7\"", "\"v0.6\"");
    let error = SuiteBenchmark::parse(&text, Path::new("b.toml")).unwrap_err();
    assert_eq!(
        lines(error)[0],
        "b.toml: rounds.v0.6: unknown round: give one of v6.1, v6.0, v5.1, v5.0, v0.7, v0.5"
    );
}

#[test]
fn a_round_is_checked() {
    for (from, to, expected) in [
        ("divisions =", "division =", "v.toml: division: unknown key, did you mean \"divisions\"?"),
        ("source =", "# source =", "v.toml: source: missing key"),
        (
            "\"edge\"",
            "\"egde\"",
            "v.toml: suites: \"egde\": give some of datacenter, edge, did you mean \"edge\"?",
        ),
        (
            "\"crop\"",
            "\"corp\"",
            "v.toml: untimed_steps: \"corp\": give one of resize, transpose, pad, crop, normalize, convert, tokenize, \
             extract-features, window, did you mean \"crop\"?",
        ),
        ("\"crop\"", "\"pad\"", "v.toml: untimed_steps: \"pad\" stands there twice"),
        (
            "precisions = [\"int4\", \"i4\"]",
            "precisions = []",
            "v.toml: formats.0.precisions: empty: give the names that plugins have",
        ),
        (
            "Server = 5",
            "Servers = 5",
            "v.toml: runs.Servers: unknown scenario \"Servers\": give one of SingleStream, MultiStream, Server, Offline, \
             did you mean \"Server\"?",
        ),
        ("Server = 5", "Server = 0", "v.toml: runs.Server: 0: give a whole number from 1 to 4294967295"),
        (
            "offline_tail = 0.9",
            "offline_tail = 1.0",
            "v.toml: length.offline_tail: 1: give a number above 0 and below 1",
        ),
    ] {
        let error = RoundRules::parse(&replaced(V0_7, from, to), Path::new("v.toml")).unwrap_err();
        assert_eq!(lines(error)[0], expected);
    }
}

#[test]
fn a_link_is_checked() {
    for (from, to, expected) in [
        (
            "suite = \"gnmt\"",
            "suite = \"gnmd\"",
            "d.toml: suite: \"gnmd\": give one of 3d-unet-brats, 3d-unet-kits19, bert, ",
        ),
        (
            "untimed_steps = [\"tokenize\"]",
            "",
            "d.toml: untimed_steps: missing key: one with suite says what its preprocessing does, [] if nothing",
        ),
        ("[\"tokenize\"]", "[\"tokenise\"]", "d.toml: untimed_steps: \"tokenise\": give one of resize, "),
    ] {
        let error = Benchmark::parse(&replaced(GNMT, from, to), Path::new("d.toml")).unwrap_err();
        let line = &lines(error)[0];
        assert!(line.starts_with(expected), "{line}");
    }
}
