//! Steps that a plugin performs inside the measurement, for vendors to link or to replace.
//!
//! The rules of MLPerf Inference time the steps that a model needs beyond its tensors, such as the features
//! of a waveform or the boxes from its raw outputs. The host hands out samples without these steps. A plugin
//! performs them with this crate, or with its own code that is faster or runs on its device.
//!
//! # Choices
//! - Nothing here knows the plugin boundary: plain slices in, plain slices out.
//! - Scores of classes become a class here, whatever engine has computed them.
//! - Beam search is not here: the plugin cpu-rnn has it next to its GNMT, in `plugins/cpu-rnn/models`, for any scorer.
//!
//! # Example
//! ```
//! use proctor_timed_steps::windows::{Accumulator, Windows};
//!
//! let windows = Windows::new([8, 8, 12], 8, 4)?;
//! let mut accumulator = Accumulator::new(windows, 2);
//! for start in windows.starts() {
//!     // A model would look at the window; this one finds class 1 everywhere.
//!     let scores = [vec![0.0; windows.voxel_count()], vec![1.0; windows.voxel_count()]].concat();
//!     accumulator.add(start, &scores);
//! }
//! let mut labels = vec![0; 8 * 8 * 12];
//! accumulator.finish(&mut labels);
//! assert!(labels.iter().all(|label| *label == 1));
//! # Ok::<_, proctor_timed_steps::windows::WindowsError>(())
//! ```

#![forbid(unsafe_code)]

pub mod boxes;
pub mod classes;
pub mod mel;
pub mod windows;
