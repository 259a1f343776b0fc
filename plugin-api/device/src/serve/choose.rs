//! Choice among the devices of a machine.

use proctor_plugin_api::PluginError;

/// A device that can be chosen by name.
pub trait Named {
    /// Returns its name.
    fn name(&self) -> &str;

    /// Returns the UUID, its platform, or the like.
    fn other_name(&self) -> &str;
}

/// The requested device is missing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no device \"{wanted}\"; there are {there}")]
pub struct NoSuchDevice {
    /// Number, or a part of a name.
    pub wanted: String,
    /// All devices, with their numbers.
    pub there: String,
}

/// Returns the device of this number, or the devices with this in their name or at the beginning of a word of
/// their other name; all of them if `wanted` is empty.
///
/// # Errors
/// [`NoSuchDevice`].
pub fn chosen<D: Named>(mut all: Vec<D>, wanted: &str) -> Result<Vec<D>, NoSuchDevice> {
    let number = wanted.parse::<usize>().ok();
    if let Some(number) = number.filter(|number| *number < all.len()) {
        return Ok(vec![all.swap_remove(number)]);
    }
    let lower = wanted.to_lowercase();
    let is_it = |device: &D| match number {
        // A number that no device has may still be a word of a name, but not a digit in one.
        Some(_) => device.name().split_whitespace().any(|word| word == wanted),
        None => {
            device.name().to_lowercase().contains(&lower)
                || format!(" {}", device.other_name().to_lowercase()).contains(&format!(" {lower}"))
        }
    };
    if !all.iter().any(is_it) {
        let there: Vec<String> = (all.iter().enumerate())
            .map(|(number, device)| format!("{number}: {} ({})", device.name(), device.other_name()))
            .collect();
        return Err(NoSuchDevice { wanted: wanted.to_owned(), there: there.join(", ") });
    }
    all.retain(is_it);
    Ok(all)
}

/// Returns the device at this position in a plugin's list.
///
/// # Errors
/// [`PluginError::invalid_argument`] if there is no such device.
pub fn at_position<D>(devices: &[D], index: u32) -> Result<&D, PluginError> {
    let device = usize::try_from(index).ok().and_then(|index| devices.get(index));
    device.ok_or_else(|| PluginError::invalid_argument(format!("there is no device {index}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Known(&'static str, &'static str);

    impl Named for Known {
        fn name(&self) -> &str {
            self.0
        }

        fn other_name(&self) -> &str {
            self.1
        }
    }

    fn all() -> Vec<Known> {
        vec![
            Known("NVIDIA H100 80GB HBM3", "GPU-11111111-2222"),
            Known("NVIDIA L4", "GPU-33333333-4444"),
            Known("NVIDIA H100 80GB HBM3", "GPU-55555555-6666"),
            Known("NVIDIA GeForce RTX 4090", "NVIDIA CUDA"),
        ]
    }

    #[test]
    fn devices_are_chosen_by_number_or_name() {
        let chosen = |wanted: &str| {
            chosen(all(), wanted).unwrap().into_iter().map(|device| device.1).collect::<Vec<_>>()
        };
        assert_eq!(chosen("").len(), 4);
        assert_eq!(chosen("1"), ["GPU-33333333-4444"]);
        assert_eq!(chosen("h100"), ["GPU-11111111-2222", "GPU-55555555-6666"]);
        assert_eq!(chosen("GPU-55555555"), ["GPU-55555555-6666"]);
        assert_eq!(chosen("4090"), ["NVIDIA CUDA"]);
        assert_eq!(chosen("nvidia cuda"), ["NVIDIA CUDA"]);
        assert_eq!(chosen("cuda"), ["NVIDIA CUDA"]);
    }

    #[test]
    fn the_error_about_a_device_that_is_not_there_lists_those_that_are() {
        // 8 is a number, though one name has 80GB in it.
        for wanted in ["A100", "8", "7777"] {
            let error = chosen(all(), wanted).unwrap_err().to_string();
            assert!(error.starts_with(&format!("there is no device \"{wanted}\"")), "{error}");
            assert!(error.contains("1: NVIDIA L4 (GPU-33333333-4444)"), "{error}");
        }
    }

    #[test]
    fn a_position_beyond_the_list_is_an_error() {
        assert_eq!(at_position(&all(), 1).unwrap().0, "NVIDIA L4");
        assert!(at_position(&all(), 4).unwrap_err().to_string().contains("there is no device 4"));
    }
}
