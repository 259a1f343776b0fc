//! Distributes the instances of a run over its devices.

use proctor_config::{Origin, Settings};
use proctor_plugin_api::Device;
use proctor_plugin_host::{Backend, DeviceList};
use proctor_results::DevicePart;
use proctor_words::{DevicesFault, HostError, UsageError};

/// The devices of a run, over which the instances are spread in turn.
#[derive(Debug, Clone, Default)]
pub struct Devices {
    list: DeviceList,
    /// Positions in the list; empty if the plugin names no device.
    chosen: Vec<u32>,
}

impl Devices {
    /// Returns the devices that the settings choose; all of them by default.
    ///
    /// # Errors
    /// If there is no such device, or the plugin does not list its own.
    pub(crate) fn choose(settings: &Settings, plugin: &str, backend: &Backend) -> Result<Self, HostError> {
        let list = backend.devices()?;
        let chosen = chosen(settings, plugin, &list.devices)?;
        Ok(Self { list, chosen })
    }

    /// Returns the position of the device of an instance; 0 without a list.
    pub(crate) fn of_instance(&self, number: u32) -> u32 {
        // There are at most 64 Ki devices.
        let position = number.checked_rem(self.chosen.len() as u32);
        position.map_or(0, |position| self.chosen[position as usize])
    }

    /// Returns the device of each of `count` instances; nothing without a list.
    pub fn of_instances(&self, count: usize) -> Vec<u32> {
        if self.chosen.is_empty() {
            return Vec::new();
        }
        self.chosen.iter().copied().cycle().take(count).collect()
    }

    /// Returns the devices that are used.
    pub(crate) fn chosen(&self) -> &[u32] {
        &self.chosen
    }

    /// Returns whether the instances of different devices are created at the same time.
    pub(crate) fn in_parallel(&self) -> bool {
        self.list.in_parallel && self.chosen.len() > 1
    }

    /// Returns the devices that this number of instances uses, for a result.
    pub fn parts(&self, instance_count: usize) -> Vec<DevicePart> {
        let part = |&index: &u32| {
            let Device { name, id, memory_bytes, numa_node } = self.list.devices[index as usize].clone();
            DevicePart { index, name, id, memory_bytes, numa_node }
        };
        self.chosen.iter().take(instance_count).map(part).collect()
    }
}

/// Returns the positions that the setting has, checked. The error names setting, plugin and value.
fn chosen(settings: &Settings, plugin: &str, listed: &[Device]) -> Result<Vec<u32>, UsageError> {
    let count = u32::try_from(listed.len()).unwrap_or(u32::MAX);
    let Some(text) = &settings.run.devices else { return Ok((0..count).collect()) };
    let wrong = |fault| {
        let origin = Box::new(settings.origin("devices").cloned().unwrap_or(Origin::Default));
        UsageError::Devices { origin, value: text.clone(), fault }
    };
    if listed.is_empty() {
        return Err(wrong(DevicesFault::NoList { plugin: plugin.to_owned() }));
    }
    let mut chosen = Vec::new();
    for part in text.split(',').map(str::trim) {
        let index = part.parse().ok().filter(|index| *index < count);
        let index = index.ok_or_else(|| {
            let (part, plugin) = (part.to_owned(), plugin.to_owned());
            wrong(DevicesFault::Unknown { part, plugin, last: count - 1 })
        })?;
        if chosen.contains(&index) {
            return Err(wrong(DevicesFault::Twice(index)));
        }
        chosen.push(index);
    }
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use proctor_config::Loader;

    use super::*;

    fn choose(text: &str, count: usize) -> Result<Vec<u32>, String> {
        let settings = Loader::new().set(&format!("devices={text}")).load().unwrap();
        let device = Device { name: "d".to_owned(), id: None, memory_bytes: None, numa_node: None };
        chosen(&settings, "p", &vec![device; count]).map_err(|error| error.to_string())
    }

    #[test]
    fn instances_take_the_chosen_devices_in_turn() {
        let devices = Devices { list: DeviceList::default(), chosen: choose("3, 1", 4).unwrap() };
        assert_eq!((0..5).map(|number| devices.of_instance(number)).collect::<Vec<_>>(), [3, 1, 3, 1, 3]);
        assert_eq!(Devices::default().of_instance(7), 0);
        let device = Device { name: "d".to_owned(), id: None, memory_bytes: None, numa_node: None };
        let list = DeviceList { devices: vec![device; 4], ..DeviceList::default() };
        let devices = Devices { list, ..devices };
        let used = |count| devices.parts(count).iter().map(|part| part.index).collect::<Vec<_>>();
        assert_eq!((used(1), used(5)), (vec![3], vec![3, 1]));
    }

    #[test]
    fn a_wrong_choice_names_itself() {
        for (text, count, error) in [
            (
                "0",
                0,
                "flag --set devices: devices = \"0\": plugin p lists no devices to choose from: leave it out",
            ),
            ("0,2", 2, "\"2\" is no device of plugin p, which has 0 to 1"),
            ("gpu", 2, "\"gpu\" is no device of plugin p, which has 0 to 1"),
            ("1,1", 2, "device 1 stands there twice"),
        ] {
            let found = choose(text, count).unwrap_err();
            assert!(found.contains(error), "{found}");
        }
    }
}
