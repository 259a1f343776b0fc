//! Plugins whose driver is not there.

use proctor_test_needs::skip;
use proctor_tests::{Bench, find_plugin};

use crate::engine::PLUGIN;

#[test]
fn without_cuda_the_plugin_is_described_and_says_what_to_install() {
    if find_plugin("cuda").is_none() {
        return skip("plugin cuda is not built; `cargo xtask test` builds it");
    }
    let bench = Bench::new();
    let described = bench.host("describe cuda");
    assert_eq!(described.code(), 0, "{described}");
    for text in ["cuda.OPTION=VALUE", "device", "nvrtc", "products", "in_flight", "int8"] {
        assert!(described.stdout.contains(text), "no \"{text}\" in {described}");
    }

    let planned = bench.host("describe cuda --plan digits-cnn");
    if planned.code() != PLUGIN {
        // It is there.
        assert_eq!(planned.code(), 0, "{planned}");
        return;
    }
    let run = bench.run("--plugin cuda --benchmark digits-cnn");
    run.finished.assert_error(PLUGIN, &["there is no", "install"]);
    assert!(!run.finished.stderr.contains("panicked"), "{}", run.finished);
    assert!(!run.folder().exists());
}
