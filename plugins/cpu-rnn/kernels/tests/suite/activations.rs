//! exp, sigmoid and tanh against f64, with the documented bounds.

use proctor_rnn_kernels::Isa;
use proctor_rnn_kernels::activation::{
    EXP_RELATIVE_ERROR, SIGMOID_ABSOLUTE_ERROR, TANH_ABSOLUTE_ERROR, exp, sigmoid, tanh,
};

/// Values in even steps over -25 ..= 25, and what lies at the edges.
fn sweep() -> Vec<f32> {
    let edges = [0.0, -0.0, 1e-40, -1e-40, f32::MIN_POSITIVE, 1e-8, -1e-8, 29.9, 30.1, -30.1, 80.0, -80.0];
    (-200_000..=200_000).map(|step| step as f32 * (25.0 / 200_000.0)).chain(edges).collect()
}

fn largest(xs: &[f32], ys: &[f32], difference: impl Fn(f64, f64) -> f64) -> f64 {
    assert_eq!(xs.len(), ys.len());
    let differences = xs.iter().zip(ys).map(|(x, y)| difference(f64::from(*x), f64::from(*y)));
    differences.fold(0.0, |a, b| if b.is_nan() { f64::INFINITY } else { a.max(b) })
}

#[test]
fn bounds_hold_from_minus_25_to_25() {
    let xs = sweep();
    for isa in Isa::available() {
        let apply = |function: fn(Isa, &mut [f32])| {
            let mut ys = xs.clone();
            function(isa, &mut ys);
            ys
        };
        let relative = largest(&xs, &apply(exp), |x, y| (y / x.exp() - 1.0).abs());
        assert!(relative <= EXP_RELATIVE_ERROR, "{isa:?}: exp {relative:e}");
        let absolute = largest(&xs, &apply(sigmoid), |x, y| (y - 1.0 / (1.0 + (-x).exp())).abs());
        assert!(absolute <= SIGMOID_ABSOLUTE_ERROR, "{isa:?}: sigmoid {absolute:e}");
        let absolute = largest(&xs, &apply(tanh), |x, y| (y - x.tanh()).abs());
        assert!(absolute <= TANH_ABSOLUTE_ERROR, "{isa:?}: tanh {absolute:e}");
        println!("{isa:?}: exp {relative:e}, tanh {absolute:e}");
    }
}

#[test]
fn infinities_and_nan_come_out_as_they_should() {
    for isa in Isa::available() {
        let apply = |function: fn(Isa, &mut [f32])| {
            let mut ys = [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1000.0, -1000.0];
            function(isa, &mut ys);
            ys
        };
        let [up, down, nan, large, small] = apply(exp);
        assert_eq!((up, down, large, small), (f32::INFINITY, 0.0, f32::INFINITY, 0.0), "{isa:?}");
        assert!(nan.is_nan());
        let [up, down, nan, ..] = apply(sigmoid);
        assert!(up == 1.0 && (0.0..1e-12).contains(&down) && nan.is_nan(), "{isa:?}: {up} {down} {nan}");
        let [up, down, nan, ..] = apply(tanh);
        assert!(up == 1.0 && down == -1.0 && nan.is_nan(), "{isa:?}: {up} {down} {nan}");
    }
}

#[test]
fn the_ends_of_the_range_of_exp_are_right() {
    for isa in Isa::available() {
        let xs = [-87.0, -87.3, -95.0, -103.0, 88.0, 88.7];
        let mut ys = xs;
        exp(isa, &mut ys);
        for (x, y) in xs.iter().zip(ys) {
            let expected = f64::from(*x).exp();
            // Denormal results have an absolute step of 2^-149.
            let allowed = expected * EXP_RELATIVE_ERROR + f64::exp2(-149.0);
            assert!((f64::from(y) - expected).abs() <= allowed, "{isa:?}: exp({x}) is {y:e}");
        }
    }
}

#[test]
fn slices_of_any_length_are_done_whole() {
    for isa in Isa::available() {
        for count in 0..40 {
            let mut values = vec![1.0; count];
            tanh(isa, &mut values);
            assert!(values.iter().all(|y| (y - 0.761_594_2).abs() < 1e-6), "{isa:?} {count}");
        }
    }
}
