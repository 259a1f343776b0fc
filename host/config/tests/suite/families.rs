//! A family of benchmarks that registers itself.

use proctor_config::{BenchmarkFamily, Loader, benchmark_families};

const DIGITS_MLP: &str = include_str!("../../benchmarks/digits-mlp.toml");

inventory::submit! {
    BenchmarkFamily {
        pattern: "mlp-<number>",
        help: "The digits MLP under many names.",
        definition: |name| {
            let number = name.strip_prefix("mlp-")?;
            Some(match number.parse::<u8>() {
                Ok(_) => Ok(DIGITS_MLP.replacen("id = \"digits-mlp\"", &format!("id = \"{name}\""), 1)),
                Err(_) => Err(format!("\"{number}\" is no number from 0 to 255")),
            })
        },
        members: || vec![("mlp-1".to_owned(), "The first one.")],
    }
}

#[test]
fn a_member_is_loaded_by_its_name() {
    let settings = Loader::new().benchmark("mlp-7").load().unwrap();
    assert_eq!((settings.benchmark.id.as_str(), settings.benchmark.dataset.as_str()), ("mlp-7", "digits"));
    assert_eq!((benchmark_families()[0].members)()[0].0, "mlp-1");
}

#[test]
fn a_wrong_name_is_met_with_the_sentence_of_the_family() {
    let error = Loader::new().benchmark("mlp-many").load().unwrap_err().to_string();
    assert!(error.contains("unknown benchmark \"mlp-many\": \"many\" is no number from 0 to 255"), "{error}");
    assert!(error.contains("known are mlp-<number>,"), "{error}");
    let error = Loader::new().benchmark("nothing-of-the-kind").load().unwrap_err().to_string();
    assert!(error.contains("text-similarity-33, mlp-<number>,"), "{error}");
}
