//! Networks around recurrent layers: DeepCPU's served models, GNMT and RNN-T, and the layers that they are made of.
//!
//! What their files hold, what a sample is and what is computed is written in the `README.md` beside this file.

pub mod layers;
