//! Numbers of LoadGen's configuration files as the C library reads them, in shapes that mutation seldom finds.

use proctor_readers::check_mlperf_conf;
use proptest::prelude::*;

/// A file with one number for three kinds of settings, padded to the length with which it is read as `mlperf.conf` for
/// Server.
fn check(word: &str) {
    let lines = ["*.Server.target_qps", "*.*.min_query_count", "*.SingleStream.target_latency"];
    let mut text = lines.map(|key| format!("{key} = {word}\n")).concat();
    while text.len() % 6 != 2 {
        text.push('\n');
    }
    check_mlperf_conf(text.as_bytes());
}

proptest! {
    /// Around the smallest doubles, where digits are rounded at another place.
    #[test]
    fn hexadecimal_floats(
        sign in "[-+]?",
        mantissa in "[0-9a-f]{0,18}(\\.[0-9a-f]{0,18})?",
        exponent in prop_oneof![-1150_i32..-950, -80_i32..80, 950_i32..1150],
    ) {
        check(&format!("{sign}0x{mantissa}p{exponent}"));
    }

    #[test]
    fn long_hexadecimal_mantissas(digits in "[0-9a-f]{14,40}", zeros in 0_usize..400, exponent in -2000_i32..2000) {
        check(&format!("0x{}{digits}p{exponent}", "0".repeat(zeros)));
        check(&format!("0x.{}{digits}p{exponent}", "0".repeat(zeros)));
        check(&format!("0x{digits}{}.p{exponent}", "0".repeat(zeros)));
    }

    #[test]
    fn decimal_floats(word in "[-+]?[0-9]{0,25}(\\.[0-9]{0,25})?(e[-+]?[0-9]{1,4})?") {
        check(&word);
    }

    #[test]
    fn anything_of_the_letters_of_numbers(word in "[-+0-9a-fxXpPinfINFanAN._(),]{1,12}") {
        check(&word);
    }
}

#[test]
fn half_of_the_smallest_double_and_its_neighbours() {
    for word in [
        "0x1p-1074",
        "0x1p-1075",
        "0x1.0000000000001p-1075",
        "0x1.8p-1074",
        "0x1.8000000000000000001p-1074",
        "0x1.7ffffffffffffp-1074",
        "0x0.fffffffffffff8p-1022",
        "0x0.fffffffffffff7ffffp-1022",
        "0x1.fffffffffffff8p1023",
        "0x1.fffffffffffff7ffp1023",
        "0x3.0000000000000001p-1075",
    ] {
        check(word);
    }
}
