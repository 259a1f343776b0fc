//! The form since PyTorch 1.6: an archive with the table as `data.pkl`, and the values of each storage as a member.
//! None is compressed.

use std::{collections::HashMap, io::Cursor};

use zip::{
    CompressionMethod, ZipArchive,
    read::{ArchiveOffset, Config},
};

use super::{Storages, error::TorchError, pickle::Pickle, size_bytes};

const TABLE: &str = "data.pkl";

/// Returns the pickle of the table, and the values of each storage by its key.
pub(super) fn read(data: &[u8]) -> Result<(Pickle, Storages<'_>), TorchError> {
    let members = members(data)?;
    let is_table = |name: &&String| name.rsplit('/').next() == Some(TABLE);
    let missing = || TorchError::NotTorch(format!("it is an archive without {TABLE}"));
    let table = members.keys().filter(is_table).min_by_key(|name| name.len()).ok_or_else(missing)?;
    let folder = &table[..table.len() - TABLE.len()];
    if members.get(&format!("{folder}byteorder")).is_some_and(|order| *order != b"little") {
        return Err(TorchError::NotTorch("its values begin with their highest bytes".to_owned()));
    }
    let pickle = Pickle::read(members[table])?;
    let mut storages = HashMap::new();
    for storage in pickle.storages() {
        let fault = |what: &str| TorchError::Storage { key: storage.key.to_string(), what: what.to_owned() };
        let member =
            members.get(&format!("{folder}data/{}", storage.key)).ok_or_else(|| fault("is missing"))?;
        if size_bytes(storage) != Some(member.len()) {
            return Err(fault("has another number of values than its tensors say"));
        }
        storages.insert(storage.key.clone(), *member);
    }
    Ok((pickle, storages))
}

/// Returns the members of an archive by their names.
fn members(data: &[u8]) -> Result<HashMap<String, &[u8]>, TorchError> {
    let unreadable = |error: zip::result::ZipError| TorchError::Archive(error.to_string());
    let config = Config { archive_offset: ArchiveOffset::Known(0) };
    let mut archive = ZipArchive::with_config(config, Cursor::new(data)).map_err(unreadable)?;
    let mut members = HashMap::new();
    for index in 0..archive.len() {
        let entry = archive.by_index_raw(index).map_err(unreadable)?;
        let name = String::from_utf8_lossy(entry.name_raw()).into_owned();
        if entry.encrypted() || entry.compression() != CompressionMethod::Stored {
            return Err(TorchError::Archive(format!(
                "its member {name} is packed, which PyTorch never does"
            )));
        }
        let place = || {
            let start = usize::try_from(entry.data_start()?).ok()?;
            data.get(start..start.checked_add(usize::try_from(entry.size()).ok()?)?)
        };
        let bytes = place().ok_or(TorchError::CutShort("a member of the archive"))?;
        members.insert(name, bytes);
    }
    Ok(members)
}
