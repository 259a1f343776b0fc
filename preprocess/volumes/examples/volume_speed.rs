//! Compares the speed of preparing KiTS19 volumes with nibabel, SciPy and NumPy: `speed [SLICES] [COUNT]`.
//!
//! The scan is made here: SLICES (300) of 512 x 512, i16, compressed by gzip at level 6. Both prepare it COUNT (3)
//! times from the file; the median counts. Python's packages are found by `PYTHONPATH`.

use std::{env, fs, io::Write, path::Path, process::Command, time::Instant};

use flate2::{Compression, write::GzEncoder};
use proctor_nifti_file::{NewImage, Volume, encode};
use proctor_volumes::kits;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = env::args().skip(1);
    let slices: usize = arguments.next().map_or(Ok(300), |word| word.parse())?;
    let count: usize = arguments.next().map_or(Ok(3), |word| word.parse())?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("imaging.nii.gz");
    write_scan(slices, &path)?;
    println!("{slices} x 512 x 512 voxels of i16, {} MB packed", fs::metadata(&path)?.len() / 1_000_000);

    let mut ours = Vec::new();
    let mut prepared = None;
    for _ in 0..count {
        let start = Instant::now();
        prepared = Some(kits::prepare(&fs::read(&path)?)?);
        ours.push(start.elapsed().as_secs_f64());
    }
    let prepared = prepared.ok_or("a count of at least 1")?;
    let sum: f64 = prepared.values().iter().map(|value| f64::from(*value)).sum();
    let ours = median(&mut ours);
    println!("proctor: {} ({:?}, sum {sum})", rate(ours), prepared.shape());

    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/speed.py");
    let output = Command::new("python3").arg(script).arg(&path).arg(count.to_string()).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    let output = String::from_utf8(output.stdout)?;
    let mut theirs: Vec<f64> = output.lines().filter_map(|line| line.parse().ok()).collect();
    let theirs = median(&mut theirs);
    println!("SciPy:   {} ({})", rate(theirs), output.lines().last().unwrap_or_default());
    println!("ratio:   {:.2}", theirs / ours);
    Ok(())
}

fn median(seconds: &mut [f64]) -> f64 {
    seconds.sort_by(f64::total_cmp);
    f64::midpoint(seconds[(seconds.len() - 1) / 2], seconds[seconds.len() / 2])
}

fn rate(seconds: f64) -> String {
    format!("{:.3} volumes/s, {seconds:.3} s each", 1.0 / seconds)
}

/// Air around a body with some noise, so that it is packed about as well as a scan.
fn write_scan(slices: usize, path: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let mut state = 1_u32;
    let mut noise = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 27) as i16
    };
    let mut values = Vec::with_capacity(slices * 512 * 512);
    for _ in 0..slices {
        for y in 0..512_i32 {
            for x in 0..512_i32 {
                let is_body = (x - 256).pow(2) + (y - 256).pow(2) < 180 * 180;
                values.push(if is_body { 40 + noise() * 2 + ((x / 16 + y / 16) % 7) as i16 } else { -1024 });
            }
        }
    }
    let volume = Volume::new([slices, 512, 512], values);
    let stored = encode(&NewImage { volume: &volume, spacing_mm: [1.0, 0.78, 0.78] });
    let mut plain = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(stored.as_slice()), &mut plain)?;
    let mut packed = GzEncoder::new(fs::File::create(path)?, Compression::new(6));
    packed.write_all(&plain)?;
    packed.finish()?;
    Ok(())
}
