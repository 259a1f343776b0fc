//! Writes the file of a recipe without ever holding all of it in memory.

use std::{
    fs::{self, File},
    io::{self, Write},
    num::NonZero,
    path::{Path, PathBuf},
    process,
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    thread,
};

use crate::{
    error::RecipeError,
    weights::{ModelRecipe, TensorRecipe},
};

/// Progress of writing a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Number of bytes written so far, the header counted.
    pub written_bytes: u64,
    /// Size of the whole file.
    pub total_bytes: u64,
}

/// Number of values of one piece of work: 4 MiB, enough that passing pieces on costs nothing.
const CHUNK_LEN: usize = 1 << 20;

/// More threads than this wait for the disk.
const THREADS_MAX: usize = 8;

/// Writes the weights of `recipe` to a safetensors file.
///
/// It holds a few pieces of 4 MiB at a time, made on all processors. The file has a temporary name in the same folder
/// until it is complete and synced. `progress` is called on this thread after each piece.
///
/// # Errors
/// [`RecipeError`]; what had been written is removed then.
pub fn write_safetensors(
    recipe: &ModelRecipe,
    path: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), RecipeError> {
    let header = header(recipe);
    let total_bytes = header.len() as u64 + 4 * recipe.parameter_count();
    let written = write_whole(path, |file| {
        file.write_all(&header)?;
        write_values(recipe, file, header.len() as u64, total_bytes, progress)
    });
    written.map_err(|source| {
        let model = recipe.name.clone();
        RecipeError::Write { model, size_bytes: total_bytes, path: path.to_owned(), source }
    })
}

/// Writes a file under a temporary name in the folder of `path`, then renames it, so that there is never half a file.
pub(crate) fn write_whole(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let partial = Partial(path.with_file_name(format!(".{name}.{}.partial", process::id())));
    let mut file = File::create(&partial.0)?;
    write(&mut file)?;
    file.sync_all()?;
    fs::rename(&partial.0, path)
}

/// A file that is removed unless it has got its real name, even if the writing of it panics.
struct Partial(PathBuf);

impl Drop for Partial {
    fn drop(&mut self) {
        // After the rename there is nothing to remove; after a failure the first error is the one to report.
        drop(fs::remove_file(&self.0));
    }
}

/// Returns the length of the description, and the description: names, types, shapes and places as JSON, padded to 8
/// bytes.
fn header(recipe: &ModelRecipe) -> Vec<u8> {
    let mut entries = serde_json::Map::new();
    let source = format!("proctor recipe {}, seed {}", recipe.name, recipe.seed);
    entries.insert("__metadata__".to_owned(), serde_json::json!({ "format": "pt", "source": source }));
    let mut start = 0;
    for tensor in &recipe.tensors {
        let end = start + 4 * tensor.element_count() as u64;
        let entry =
            serde_json::json!({ "dtype": "F32", "shape": tensor.shape, "data_offsets": [start, end] });
        entries.insert(tensor.name.clone(), entry);
        start = end;
    }
    let mut text = serde_json::Value::Object(entries).to_string().into_bytes();
    text.resize(text.len().next_multiple_of(8), b' ');
    [(text.len() as u64).to_le_bytes().as_slice(), &text].concat()
}

impl ModelRecipe {
    /// Returns the name of the file of weights.
    pub(crate) fn file_name(&self) -> String {
        format!("{}.safetensors", self.name)
    }

    /// Returns where each tensor begins in the file of weights, in bytes, in the order of the tensors.
    pub(crate) fn offsets_bytes(&self) -> impl Iterator<Item = u64> {
        let ends = self.tensors.iter().scan(header(self).len() as u64, |end, tensor| {
            let start = *end;
            *end += 4 * tensor.element_count() as u64;
            Some(start)
        });
        ends.collect::<Vec<_>>().into_iter()
    }
}

/// A piece of a tensor: where it starts and how many values it has.
type Chunk<'a> = (&'a TensorRecipe, usize, usize);

fn chunks(recipe: &ModelRecipe) -> impl Iterator<Item = Chunk<'_>> {
    recipe.tensors.iter().flat_map(|tensor| {
        let count = tensor.element_count();
        (0..count).step_by(CHUNK_LEN).map(move |start| (tensor, start, CHUNK_LEN.min(count - start)))
    })
}

/// Makes the pieces on all processors and writes them in order.
fn write_values(
    recipe: &ModelRecipe,
    file: &mut impl Write,
    mut written_bytes: u64,
    total_bytes: u64,
    progress: &mut dyn FnMut(Progress),
) -> io::Result<()> {
    let pieces = chunks(recipe).count();
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(THREADS_MAX).min(pieces.max(1));
    thread::scope(|scope| {
        let makers: Vec<_> = (0..threads)
            .map(|first| {
                let (full_sender, full) = sync_channel(1);
                let (empty, empty_receiver) = sync_channel(2);
                let work = chunks(recipe).skip(first).step_by(threads);
                scope.spawn(move || make(recipe.seed, work, &full_sender, &empty_receiver));
                (full, empty)
            })
            .collect();
        for piece in 0..pieces {
            let (full, empty) = &makers[piece % threads];
            let bytes: Vec<u8> =
                full.recv().map_err(|_| io::Error::other("a thread that makes values ended"))?;
            file.write_all(&bytes)?;
            written_bytes += bytes.len() as u64;
            // A maker that has made its last piece needs no further buffer.
            drop(empty.try_send(bytes));
            progress(Progress { written_bytes, total_bytes });
        }
        Ok(())
    })
}

/// Makes pieces until there are none left or the receiver is gone.
fn make<'a>(
    seed: u64,
    work: impl Iterator<Item = Chunk<'a>>,
    full: &SyncSender<Vec<u8>>,
    empty: &Receiver<Vec<u8>>,
) {
    let mut values = Vec::new();
    for (tensor, start, count) in work {
        values.resize(count, 0.0);
        tensor.write(seed, start, &mut values);
        let mut bytes = empty.try_recv().unwrap_or_default();
        bytes.resize(4 * count, 0);
        for (place, value) in bytes.as_chunks_mut().0.iter_mut().zip(&values) {
            *place = value.to_le_bytes();
        }
        if full.send(bytes).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{catalogue::recipe, weights::Fill};

    /// Pieces of more than one size, a fill across their border, and an empty tensor.
    fn large() -> ModelRecipe {
        let tensor = |name: &str, shape: &[usize], fills| TensorRecipe {
            name: name.to_owned(),
            shape: shape.to_vec(),
            scale: 0.25,
            center: 0.0,
            fills,
        };
        let fill = Fill { start: CHUNK_LEN - 2, count: 5, value: 3.0 };
        let tensors = vec![
            tensor("a", &[3, CHUNK_LEN / 2], vec![fill]),
            tensor("b", &[0], Vec::new()),
            tensor("c", &[7], Vec::new()),
        ];
        ModelRecipe { name: "large".to_owned(), seed: 5, tensors }
    }

    #[test]
    fn the_file_holds_every_tensor_as_the_recipe_makes_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("large.safetensors");
        let recipe = large();
        let mut last = Progress { written_bytes: 0, total_bytes: 0 };
        write_safetensors(&recipe, &path, &mut |progress| {
            assert!(progress.written_bytes > last.written_bytes);
            last = progress;
        })
        .unwrap();
        let bytes = fs::read(&path).unwrap();
        assert_eq!((last.written_bytes, last.total_bytes), (bytes.len() as u64, bytes.len() as u64));

        let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
        assert_eq!(file.len(), 3);
        for tensor in &recipe.tensors {
            let view = file.tensor(&tensor.name).unwrap();
            assert_eq!((view.dtype(), view.shape()), (safetensors::Dtype::F32, tensor.shape.as_slice()));
            let values: Vec<f32> =
                view.data().as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
            assert_eq!(values, recipe.values(&tensor.name).unwrap(), "{}", tensor.name);
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
    }

    #[test]
    fn the_same_recipe_makes_the_same_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let recipe = recipe("gnmt-tiny").unwrap();
        let [first, second] = ["a", "b"].map(|name| {
            let path = folder.path().join(name);
            write_safetensors(&recipe, &path, &mut |_| ()).unwrap();
            fs::read(path).unwrap()
        });
        assert!(first == second);
    }

    #[test]
    fn a_file_that_cannot_be_put_in_place_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let occupied = folder.path().join("model.safetensors");
        fs::create_dir(&occupied).unwrap();
        let error = write_safetensors(&large(), &occupied, &mut |_| ()).unwrap_err().to_string();
        assert!(
            error.starts_with("cannot write the weights of \"large\"") && error.contains("model.safetensors")
        );
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "only the folder that was there");
        let missing = folder.path().join("missing/model.safetensors");
        assert!(write_safetensors(&large(), &missing, &mut |_| ()).is_err());
    }
}
