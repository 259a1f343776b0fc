//! The recorded outputs of `std::mt19937` and of the libstdc++ distributions.

use crate::golden_files;
use proctor_loadgen::Mt19937;
use serde::Deserialize;

#[derive(Deserialize)]
struct Vectors {
    seed: u64,
    raw_first16: Vec<u32>,
    raw_1000th: u32,
    uniform_int: Vec<UniformInt>,
    shuffle: Vec<Shuffle>,
    shuffle_large: Vec<ShuffleLarge>,
    canonical_f64bits_first8: Vec<String>,
    exp_ns: Vec<Exponential>,
}

#[derive(Deserialize)]
struct UniformInt {
    n: u32,
    first12: Vec<u32>,
}

#[derive(Deserialize)]
struct Shuffle {
    n: u32,
    result: Vec<u32>,
    next_raw: u32,
}

#[derive(Deserialize)]
struct ShuffleLarge {
    n: u32,
    first8: Vec<u32>,
    last8: Vec<u32>,
    next_raw: u32,
}

#[derive(Deserialize)]
struct Exponential {
    qps: f64,
    first12: Vec<u64>,
}

#[test]
fn all_vectors_are_reproduced() {
    let vectors: Vec<Vectors> = golden_files::read("rng_vectors.json");
    assert_eq!(vectors.len(), 9);
    for vector in vectors {
        check(&vector);
    }
}

fn check(vector: &Vectors) {
    let fresh = || Mt19937::new(vector.seed);
    let mut rng = fresh();
    let raw: Vec<u32> = (0..1000).map(|_| rng.next_u32()).collect();
    assert_eq!(raw[..16], vector.raw_first16[..]);
    assert_eq!(raw[999], vector.raw_1000th);

    for UniformInt { n, first12 } in &vector.uniform_int {
        let mut rng = fresh();
        let draws: Vec<u32> = first12.iter().map(|_| rng.below(*n)).collect();
        assert_eq!(draws, *first12, "seed {}, 0..{n}", vector.seed);
    }
    for Shuffle { n, result, next_raw } in &vector.shuffle {
        let (shuffled, next) = shuffle(fresh(), *n);
        assert_eq!((&shuffled, next), (result, *next_raw), "seed {}, shuffle of {n}", vector.seed);
    }
    for ShuffleLarge { n, first8, last8, next_raw } in &vector.shuffle_large {
        let (shuffled, next) = shuffle(fresh(), *n);
        assert_eq!(shuffled[..8], first8[..]);
        assert_eq!(shuffled[shuffled.len() - 8..], last8[..]);
        assert_eq!(next, *next_raw, "seed {}, shuffle of {n}", vector.seed);
    }
    let mut rng = fresh();
    for bits in &vector.canonical_f64bits_first8 {
        assert_eq!(format!("{:016x}", rng.canonical().to_bits()), *bits);
    }
    for Exponential { qps, first12 } in &vector.exp_ns {
        let mut rng = fresh();
        let gaps: Vec<u64> = first12.iter().map(|_| rng.exponential_ns(*qps)).collect();
        assert_eq!(gaps, *first12, "seed {}, {qps} 1/s", vector.seed);
    }
}

fn shuffle(mut rng: Mt19937, n: u32) -> (Vec<u32>, u32) {
    let mut elements: Vec<u32> = (0..n).collect();
    rng.shuffle(&mut elements);
    (elements, rng.next_u32())
}
