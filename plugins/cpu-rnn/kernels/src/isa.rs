//! Chooses the instructions of the kernels once, at run time.

use std::env;
use std::sync::OnceLock;

/// Environment variable that forces an instruction set: `portable`, `avx2` or `avx512`.
pub const ISA_VARIABLE: &str = "CPU_RNN_ISA";

/// A set of kernels, from the plainest to the fastest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Isa {
    /// Plain code, as the compiler vectorises it: runs everywhere.
    Portable,
    /// x86-64 with AVX2 and FMA.
    Avx2,
    /// x86-64 with AVX-512 F, BW, DQ and VL; int8 weights need VNNI as well.
    Avx512,
}

/// Reason why the requested instruction set cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IsaError {
    /// No such name.
    #[error("{ISA_VARIABLE} is `{0}`, expected portable, avx2 or avx512")]
    Unknown(String),
    /// The processor lacks the instructions.
    #[error("{ISA_VARIABLE} is `{name}`, which this processor does not have", name = .0.name())]
    Unavailable(Isa),
}

impl Isa {
    const ALL: [Self; 3] = [Self::Portable, Self::Avx2, Self::Avx512];

    /// Returns the fastest set of this processor, or the one that [`ISA_VARIABLE`] names if this processor has it.
    /// Decided once.
    #[must_use]
    pub fn best() -> Self {
        static BEST: OnceLock<Isa> = OnceLock::new();
        *BEST.get_or_init(|| Self::forced().ok().flatten().unwrap_or_else(Self::fastest))
    }

    /// Returns the set that [`ISA_VARIABLE`] names; `None` if it is unset or empty.
    ///
    /// # Errors
    /// If the name is unknown, or if the processor has no such instructions.
    pub fn forced() -> Result<Option<Self>, IsaError> {
        let name = env::var(ISA_VARIABLE).unwrap_or_default();
        if name.is_empty() {
            return Ok(None);
        }
        let isa = Self::ALL.into_iter().find(|isa| isa.name() == name).ok_or(IsaError::Unknown(name))?;
        if isa.is_available() { Ok(Some(isa)) } else { Err(IsaError::Unavailable(isa)) }
    }

    /// Returns every set that this processor has, plainest first.
    pub fn available() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|isa| isa.is_available())
    }

    /// Returns the name in lower case, as in [`ISA_VARIABLE`].
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }

    /// Returns the number of f32 values of a vector.
    #[must_use]
    pub fn lanes(self) -> usize {
        match self {
            Self::Portable => 4,
            Self::Avx2 => 8,
            Self::Avx512 => 16,
        }
    }

    /// Returns whether this processor, and the operating system on it, has these instructions.
    #[must_use]
    pub fn is_available(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        return match self {
            Self::Portable => true,
            Self::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            Self::Avx512 => {
                Self::Avx2.is_available()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
            }
        };
        #[cfg(not(target_arch = "x86_64"))]
        return self == Self::Portable;
    }

    /// Returns the fastest set of this processor.
    #[must_use]
    pub fn fastest() -> Self {
        Self::available().last().unwrap_or(Self::Portable)
    }

    /// Returns the set that computes with int8 weights: AVX-512 without VNNI falls back to AVX2.
    pub(crate) fn for_int8(self) -> Self {
        #[cfg(target_arch = "x86_64")]
        if self == Self::Avx512 && !is_x86_feature_detected!("avx512vnni") {
            return Self::Avx2;
        }
        self
    }
}
