//! `host bench scaling`: the policies that scale over the jobs of the DNNScaler paper, in virtual time.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use clap::Args;
use proctor_display::print;
use proctor_scaling_jobs::results::{Results, of_the_mock, results};
use proctor_words::{Conclusion, HostError, write_whole};

#[derive(Debug, Clone, Args)]
pub(crate) struct ScalingFlags {
    /// Folder for scaling-results.md and its pictures
    #[arg(long, value_name = "FOLDER", default_value = "scaling-jobs")]
    output: PathBuf,
    /// Also write the batch times of each job as tables for the plugin mock, into the folder mock
    #[arg(long)]
    mock_tables: bool,
}

/// Runs everything, and writes the page with its pictures.
pub(super) fn bench(flags: &ScalingFlags) -> Result<Conclusion, HostError> {
    let Results { page, pictures, met: (met, of) } = results();
    let folder = |name: &str| {
        let path = flags.output.join(name);
        match fs::create_dir_all(&path) {
            Ok(()) => Ok(path),
            Err(source) => Err(HostError::Output { path, source }),
        }
    };
    let write = |path: &Path, text: &str| write_whole(path, |file| file.write_all(text.as_bytes()));
    let path = folder("")?.join("scaling-results.md");
    write(&path, &page)?;
    let pictures_folder = folder("scaling-results")?;
    for (name, svg) in &pictures {
        write(&pictures_folder.join(name), svg)?;
    }
    if flags.mock_tables {
        let tables_folder = folder("mock")?;
        for (number, tables) in of_the_mock() {
            write(&tables_folder.join(format!("job-{number}.csv")), &tables.table)?;
            write(&tables_folder.join(format!("job-{number}-tail.csv")), &tables.table_tail)?;
        }
    }
    print(format!("{met} of {of} targets are met: {}\n", path.display()));
    Ok(Conclusion::Good)
}
