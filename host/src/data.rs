//! `host data`: the models that are made here.

use proctor_config::{RNN_PATTERN, Settings};
use proctor_datasets::{
    DataRoot, find_made_model, find_or_make_model, make_model,
    recipes::{NETWORKS, recipe},
};

use crate::{
    cache_folder::lasting_folder,
    cli::{DataCommand, DataFlags},
    exit::HostError,
    model_files::FileProgress,
    text::{megabytes, table},
};

/// Does what is asked for, and returns what to print.
///
/// # Errors
/// If there is no such model, or it cannot be made.
pub(crate) fn data(flags: &DataFlags) -> Result<String, HostError> {
    let settings = flags.command.run().load()?;
    let root = DataRoot::new(settings.run.data_root.as_deref());
    match &flags.command {
        DataCommand::List { .. } => Ok(list(&settings, &root)),
        DataCommand::MakeModel { name, out, .. } => {
            let mut progress = FileProgress::default();
            let made = match out {
                Some(folder) => make_model(name, folder, &mut |path, done| progress.show(path, done))?,
                None => find_or_make_model(name, &root, &lasting_folder(&settings), &mut |path, done| {
                    progress.show(path, done);
                })?,
            };
            let was = if made.is_new { "made" } else { "is there already" };
            Ok(format!("{} {was}\nsha256 {}\n", made.path.display(), made.sha256))
        }
    }
}

fn list(settings: &Settings, root: &DataRoot) -> String {
    let fallback = lasting_folder(settings);
    let row = |name: &&str| {
        let place = find_made_model(name, root, &fallback);
        let size = recipe(name).map(|recipe| megabytes(4 * recipe.parameter_count()));
        let place = place.map_or_else(|| "not made yet".to_owned(), |made| made.path.display().to_string());
        vec![(*name).to_owned(), size.unwrap_or_default(), place]
    };
    let rows: Vec<_> = NETWORKS.iter().map(row).collect();
    format!(
        "Models that are made when they are first needed\n{}  {RNN_PATTERN}  a single layer of any size\n",
        table(&rows)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_network_is_listed_with_its_size() {
        let folder = tempfile::tempdir().unwrap();
        let settings = proctor_config::Loader::new()
            .flag("", "cache_folder", folder.path().display().to_string())
            .load()
            .unwrap();
        let root = DataRoot::new(Some(folder.path()));
        let text = list(&settings, &root);
        for name in NETWORKS {
            assert!(
                text.lines().any(|line| line.trim_start().starts_with(name) && line.contains(" MB")),
                "{text}"
            );
        }
        make_model("gnmt-tiny", &folder.path().join("generated"), &mut |_, _| ()).unwrap();
        let text = list(&settings, &root);
        assert!(text.lines().any(|line| line.contains("generated/gnmt-tiny.safetensors")), "{text}");
    }
}
