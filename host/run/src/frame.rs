//! The frame of a run and of a search: settings checked and warned about, a folder that stays only if it has content,
//! the report of a crash or a hang, and a note of the error that ended it.

use std::{mem, ops::Deref};

use proctor_bed::{
    Equipment, Interrupt, TestBed, Watchdog,
    published::{Published, open_counted},
    scheduler_config, watchdog,
};
use proctor_config::{QslCounts, Settings};
use proctor_plugin_host::{crash, process};
use proctor_results::file_names::{CRASH, ERROR};
use proctor_vocabulary::printable;
use proctor_words::{HostError, RunFolder};

use crate::{accuracy, ending::Pending, warnings};

/// Surroundings of the tests of a run or a search.
pub struct Frame {
    /// The settings, with all warnings.
    pub settings: Settings,
    /// The run folder.
    pub folder: RunFolder,
    /// Ctrl-C, and the user's side.
    pub interrupt: Interrupt,
    /// Watchdog over the calls into the plugin.
    pub(crate) watchdog: Watchdog,
    /// The data set of the benchmark, if it is a published one, until the test bed has it.
    published: Option<Published>,
    /// The results that wait for the end of the plugin, if any do.
    pub(crate) pending: Pending,
}

/// A test bed that its work closes. On an error the plugin is left alone, since closing it may hang or crash, and the
/// error must be reported; but not in a program that outlives the work.
pub struct OpenBed<'a> {
    /// Taken by `close` and `drop` alone.
    bed: Option<TestBed<'a>>,
    is_closed_on_error: bool,
}

impl OpenBed<'_> {
    /// Closes the bed, and with it the plugin.
    pub fn close(mut self) {
        drop(self.bed.take());
    }
}

impl<'a> Deref for OpenBed<'a> {
    type Target = TestBed<'a>;

    fn deref(&self) -> &TestBed<'a> {
        self.bed.as_ref().expect("it is there until it is closed")
    }
}

impl Drop for OpenBed<'_> {
    fn drop(&mut self) {
        if let Some(bed) = self.bed.take()
            && !self.is_closed_on_error
        {
            mem::forget(bed);
        }
    }
}

impl Frame {
    /// Checks the settings, shows their warnings, and makes the folder.
    ///
    /// # Errors
    /// If the settings are wrong, or the folder cannot be made.
    pub fn set_up(
        settings: Settings,
        interrupt: &Interrupt,
        make_folder: impl FnOnce(&Settings) -> Result<RunFolder, HostError>,
    ) -> Result<Self, HostError> {
        Self::set_up_with(settings, interrupt, warnings::check, make_folder)
    }

    /// Does the same as [`set_up`](Self::set_up), with `warn`'s warnings, and refuses if settings are `strict`.
    /// `warn` is given the sizes of the library.
    ///
    /// # Errors
    /// If the settings are wrong, or the folder cannot be made.
    pub fn set_up_with(
        mut settings: Settings,
        interrupt: &Interrupt,
        warn: impl FnOnce(&mut Settings, QslCounts) -> Result<(), HostError>,
        make_folder: impl FnOnce(&Settings) -> Result<RunFolder, HostError>,
    ) -> Result<Self, HostError> {
        // A plugin may change the working folder.
        let run = &mut settings.run;
        let paths = [
            &mut run.data_root,
            &mut run.dataset_folder,
            &mut run.model_file,
            &mut run.cache_folder,
            &mut run.curves,
        ];
        for path in paths.into_iter().flatten() {
            *path = std::path::absolute(&*path).unwrap_or_else(|_| path.clone());
        }
        let (published, counts) = open_counted(&mut settings)?;
        warn(&mut settings, counts)?;
        for warning in &settings.warnings {
            interrupt.observer().message(&format!("warning: {}", printable(warning)));
        }
        scheduler_config(&settings.run)?;
        // A signal waits, and then finds a folder that it may remove.
        let folder = interrupt.start(
            || make_folder(&settings),
            |folder| {
                let cleanup = folder.clone();
                move || _ = cleanup.remove_if_empty()
            },
        )?;
        interrupt.observer().folder_is_made(&folder);
        let (watchdog, pending) = (Watchdog::default(), Pending::default());
        Ok(Self { settings, folder, interrupt: interrupt.clone(), watchdog, published, pending })
    }

    /// Opens the test bed with the plugin under watch, and runs the work on it, which closes the bed when its results
    /// are safe: see [`OpenBed`]. An error is recorded in the folder, if anything is in it, and `hint` tells the user
    /// what the folder is good for.
    ///
    /// # Errors
    /// Returns the errors of the work, the plugin, the data and the model.
    pub fn run<T>(
        mut self,
        hint: &str,
        audit_config: Option<String>,
        work: impl FnOnce(&Self, OpenBed<'_>) -> Result<T, HostError>,
    ) -> Result<T, HostError> {
        let published = self.published.take();
        let worked = self.watch_plugin().and_then(|()| {
            let bed = self.open(published, audit_config)?;
            self.interrupt.check()?;
            work(&self, OpenBed { bed: Some(bed), is_closed_on_error: self.interrupt.is_embedded() })
        });
        worked.inspect_err(|error| {
            if !self.folder.remove_if_empty() {
                self.folder.note(&error.report());
                let partial = self.folder.partial_name();
                let partial = partial.display();
                self.interrupt.observer().message(&format!("{hint} {partial}"));
            }
        })
    }

    /// Opens plugin, data and model, and checks that the answers can be scored.
    ///
    /// # Errors
    /// If any of them is missing, damaged, or does not fit the others.
    fn open(
        &self,
        published: Option<Published>,
        audit_config: Option<String>,
    ) -> Result<TestBed<'_>, HostError> {
        let Self { settings, interrupt, watchdog, .. } = self;
        interrupt.check()?;
        accuracy::response_form(&settings.benchmark)?;
        let watched = watchdog.clone();
        let equipment = Equipment { published, watchdog: watched, audit_config, ..Equipment::of(settings) };
        let bed = TestBed::open(settings, equipment, interrupt)?;
        let plugin = bed.plugin.backend.host_side();
        interrupt.on_second(move || plugin.cancel());
        let watchdog = watchdog.clone();
        interrupt.end_plugin_by(move || watchdog.end_isolated());
        accuracy::check(settings, &bed, interrupt.observer().as_ref())?;
        Ok(bed)
    }

    /// Starts reporting every crash and hang of the plugin.
    fn watch_plugin(&mut self) -> Result<(), HostError> {
        crash::install(&self.folder.path(CRASH))?;
        process::report_end_in(&self.folder.path(ERROR), "error: ");
        let (folder, pending) = (self.folder.clone(), self.pending.clone());
        self.watchdog = watchdog(&self.settings, &self.interrupt, move |hang, error| {
            match pending.take().map(|result| result.conclude(vec![hang])) {
                Some(Ok(_)) => {}
                Some(Err(unwritten)) => folder.note(&unwritten.report()),
                None => folder.note(&error.report()),
            }
        });
        Ok(())
    }
}
