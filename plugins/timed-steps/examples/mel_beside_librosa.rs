//! Times the features of 15 s of speech beside librosa's, one after the other in turn, each on one thread.
//!
//! ```sh
//! cargo run --release -p proctor-timed-steps --example mel_beside_librosa
//! ```
//!
//! librosa is found by `PYTHONPATH`; `cargo xtask setup` installs it below `target/`.

use std::{
    env,
    error::Error,
    fs,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Command, Stdio},
    time::Instant,
};

use proctor_timed_steps::mel::{Dither, Mel};

const LENGTH: usize = 240_000;
const TURN_COUNT: usize = 101;

fn main() -> Result<(), Box<dyn Error>> {
    // A sweep over a floor of noise; the time does not depend on what is heard.
    let mut state = 1_u32;
    let waveform: Vec<f32> = (0..LENGTH)
        .map(|at| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let noise = state as f32 / u32::MAX as f32 - 0.5;
            (at as f32 * at as f32 * 1e-6).sin() * 0.3 + noise * 0.01
        })
        .collect();
    let file = env::temp_dir().join(format!("proctor-mel-{}.f32", std::process::id()));
    fs::write(&file, waveform.iter().flat_map(|sample| sample.to_le_bytes()).collect::<Vec<_>>())?;

    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/mel_beside_librosa.py");
    let one_thread = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"].map(|name| (name, "1"));
    let mut python = Command::new("python3")
        .arg(script)
        .arg(&file)
        .envs(one_thread)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let (mut ask, answers) = (python.stdin.take(), python.stdout.take());
    let ask = ask.as_mut().ok_or("python3 has no stdin")?;
    let mut answers = BufReader::new(answers.ok_or("python3 has no stdout")?).lines();

    let mut mel = Mel::new(Dither::On);
    let mut features = vec![0.0; Mel::row_count(LENGTH) * Mel::FEATURE_COUNT];
    let mut turns = Vec::new();
    for _ in 0..TURN_COUNT {
        let start = Instant::now();
        mel.compute(&waveform, &mut features)?;
        let ours_ns = start.elapsed().as_nanos() as f64;
        writeln!(ask, "next")?;
        let theirs_ns: f64 = answers.next().ok_or("librosa has ended")??.parse()?;
        turns.push((ours_ns, theirs_ns));
    }
    fs::remove_file(&file)?;
    let median = |of: fn(&(f64, f64)) -> f64| {
        let mut values: Vec<f64> = turns.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let (ours, theirs) = (median(|turn| turn.0) / 1e6, median(|turn| turn.1) / 1e6);
    let ratio = median(|turn| turn.1 / turn.0);
    println!(
        "15 s of speech: {ours:.2} ms, librosa {theirs:.2} ms; median ratio of {TURN_COUNT} turns {ratio:.1}"
    );
    Ok(())
}
