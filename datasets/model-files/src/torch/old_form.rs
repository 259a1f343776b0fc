//! The form before PyTorch 1.6: a mark, a version, sizes of the machine, the table, the keys of its storages, each as a
//! pickle, and then the values of each storage behind their number.

use std::collections::HashMap;

use super::{
    Storages,
    error::TorchError,
    pickle::{Item, Pickle},
    size_bytes,
};

/// `torch.serialization.MAGIC_NUMBER` and `PROTOCOL_VERSION`.
const MARKS: [i128; 2] = [0x1950_a86a_20f9_469c_fc6c, 1001];

/// Returns the pickle of the table, and the values of each storage by its key.
pub(super) fn read(data: &[u8]) -> Result<(Pickle, Storages<'_>), TorchError> {
    let mut rest = data;
    for mark in MARKS {
        if *next(&mut rest)?.result() != Item::Int(mark) {
            return Err(TorchError::NotTorch("it is a pickle without PyTorch's marks".to_owned()));
        }
    }
    if !is_little_endian(&next(&mut rest)?) {
        return Err(TorchError::NotTorch("its values begin with their highest bytes".to_owned()));
    }
    let table = next(&mut rest)?;
    let keys = next(&mut rest)?;
    let Item::List(list) = keys.result() else { return Err(TorchError::NoTable("no list of storages")) };
    let known: HashMap<_, _> = table.storages().map(|storage| (&*storage.key, storage)).collect();
    let mut storages = HashMap::new();
    for id in list {
        let Item::Text(key) = keys.item(*id) else {
            return Err(TorchError::NoTable("storages without keys"));
        };
        let fault = |what: &str| TorchError::Storage { key: key.to_string(), what: what.to_owned() };
        let storage = known.get(&**key).ok_or_else(|| fault("belongs to no tensor"))?;
        let count = take(&mut rest, size_of::<u64>())?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
        if count != Some(storage.count as u64) {
            return Err(fault("has another number of values than its tensors say"));
        }
        let size = size_bytes(storage).ok_or_else(|| fault("is larger than any memory"))?;
        storages.insert(key.clone(), take(&mut rest, size)?);
    }
    Ok((table, storages))
}

fn next(rest: &mut &[u8]) -> Result<Pickle, TorchError> {
    let pickle = Pickle::read(rest)?;
    *rest = &rest[pickle.size_bytes..];
    Ok(pickle)
}

/// Returns whether the machine's sizes say that numbers begin with their lowest byte.
fn is_little_endian(sizes: &Pickle) -> bool {
    let Item::Dict(pairs) = sizes.result() else { return false };
    let is_it = |key: usize, value: usize| {
        *sizes.item(key) == Item::Text("little_endian".into()) && *sizes.item(value) == Item::Flag(true)
    };
    pairs.iter().any(|(key, value)| is_it(*key, *value))
}

fn take<'a>(rest: &mut &'a [u8], size: usize) -> Result<&'a [u8], TorchError> {
    let (taken, left) = rest.split_at_checked(size).ok_or(TorchError::CutShort("the values of a storage"))?;
    *rest = left;
    Ok(taken)
}
