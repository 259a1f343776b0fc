//! The list and the pictures of a data set in the JSON form of COCO, read and verified.

use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
};

use proctor_datasets::{DatasetError, read_text};
use serde::Deserialize;

use crate::{
    defect::{AnnotationFault, Defect, Problem},
    files::{FileSamples, stays_inside},
    images::{check_picture, pictures_not_listed},
    texts::look_at,
};

/// A data set of this form: the places of its files, and its counts.
pub(crate) struct Collection {
    /// Name of the list below the folder.
    pub(crate) list: &'static str,
    /// Folder within the data set's that names of pictures are relative to.
    pub(crate) pictures: &'static str,
    /// Whether the list has all pictures of their folders.
    pub(crate) lists_all: bool,
    /// Numbers of the published set.
    pub(crate) counts: Counts,
}

/// Counts of a whole set; `None` if unknown.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) images: Option<u64>,
    pub(crate) annotated: Option<u64>,
    pub(crate) annotations: Option<u64>,
    pub(crate) categories: Option<u64>,
}

/// The images of a list, and which of them have annotations.
#[derive(Debug, Deserialize)]
struct Listed {
    images: Vec<ListedImage>,
    annotations: Vec<ListedAnnotation>,
}

#[derive(Debug, Deserialize)]
struct ListedImage {
    id: u64,
    file_name: String,
}

#[derive(Debug, Deserialize)]
struct ListedAnnotation {
    image_id: u64,
}

/// A list, checked so far.
#[derive(Debug, Deserialize)]
struct Checked {
    images: Vec<CheckedImage>,
    annotations: Vec<CheckedAnnotation>,
    categories: Vec<CheckedCategory>,
}

#[derive(Debug, Deserialize)]
struct CheckedImage {
    id: u64,
    file_name: String,
    width: u32,
    height: u32,
}

#[derive(Debug, Deserialize)]
struct CheckedAnnotation {
    id: u64,
    image_id: u64,
    category_id: u64,
    bbox: Vec<f64>,
}

#[derive(Debug, Deserialize)]
struct CheckedCategory {
    id: u64,
}

impl Collection {
    /// Opens the existing pictures of the list: all of them, or the ones with annotations.
    ///
    /// # Errors
    /// [`DatasetError::Read`] or [`DatasetError::Malformed`] for the list.
    pub(crate) fn open(
        &self,
        folder: &Path,
        dataset: &'static str,
        is_annotated_only: bool,
    ) -> Result<FileSamples, DatasetError> {
        let path = folder.join(self.list);
        let malformed =
            |problem: Problem| DatasetError::Malformed { path: path.clone(), reason: problem.to_string() };
        let listed: Listed = serde_json::from_str(&read_text(&path)?)
            .map_err(|error| malformed(Problem::Json { reason: error.to_string() }))?;
        let names = listed.images.iter().map(|image| (image.id, image.file_name.as_str()));
        if let Some(problem) = problems_of_names(names).into_iter().next() {
            return Err(malformed(problem));
        }
        let annotated: HashSet<u64> =
            listed.annotations.iter().map(|annotation| annotation.image_id).collect();
        let images = listed.images.iter().filter(|image| !is_annotated_only || annotated.contains(&image.id));
        let files = images.map(|image| (image.id.to_string(), self.picture(folder, &image.file_name)));
        FileSamples::of_list(dataset, &path, files)
    }

    fn picture(&self, folder: &Path, name: &str) -> PathBuf {
        folder.join(self.pictures).join(name)
    }

    /// Checks the list and every picture; `image_count` is the number of images of a generated set.
    pub(crate) fn verify(
        &self,
        folder: &Path,
        image_count: Option<u64>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Vec<Defect> {
        let path = folder.join(self.list);
        let mut defects = Vec::new();
        let Some(text) = look_at(&path, None, &mut defects) else { return defects };
        let list = match serde_json::from_str::<Checked>(&text) {
            Ok(list) => list,
            Err(error) => {
                let problem = Problem::Json { reason: error.to_string() };
                return vec![Defect { path, problem }];
            }
        };
        let counts =
            image_count.map_or(self.counts, |count| Counts { images: Some(count), ..Counts::default() });
        let problems = [list.problems_of_counts(&counts), list.problems_of_entries()].concat();
        defects.extend(problems.into_iter().map(|problem| Defect { path: path.clone(), problem }));
        let images: Vec<_> = list.images.iter().filter(|image| stays_inside(&image.file_name)).collect();
        let paths: Vec<_> = images.iter().map(|image| self.picture(folder, &image.file_name)).collect();
        for (done, (image, path)) in images.iter().zip(&paths).enumerate() {
            progress(done as u64, paths.len() as u64);
            defects.extend(self.check_image(image, path).err());
        }
        progress(paths.len() as u64, paths.len() as u64);
        if self.lists_all {
            defects.extend(pictures_not_listed(&paths, self.list));
        }
        defects
    }

    fn check_image(&self, image: &CheckedImage, path: &Path) -> Result<(), Defect> {
        let header = check_picture(path)?;
        let (expected, got) = ((image.width, image.height), (header.width, header.height));
        // Boxes refer to the picture as it is shown.
        if expected == got || expected == header.upright_size() {
            return Ok(());
        }
        Err(Defect {
            path: path.to_owned(),
            problem: Problem::PictureSize { listed_in: self.list, expected, got },
        })
    }
}

impl Checked {
    fn problems_of_counts(&self, counts: &Counts) -> Vec<Problem> {
        let images: HashSet<u64> = self.images.iter().map(|image| image.id).collect();
        let annotated: HashSet<u64> = self.annotations.iter().map(|annotation| annotation.image_id).collect();
        let rows = [
            ("images", counts.images, self.images.len()),
            ("images with annotations", counts.annotated, annotated.intersection(&images).count()),
            ("annotations", counts.annotations, self.annotations.len()),
            ("categories", counts.categories, self.categories.len()),
        ];
        let wrong = |(things, expected, got): (&'static str, Option<u64>, usize)| {
            let (expected, got) = (expected?, got as u64);
            (expected != got).then_some(Problem::Count { things, expected, got })
        };
        rows.into_iter().filter_map(wrong).collect()
    }

    fn problems_of_entries(&self) -> Vec<Problem> {
        let mut problems =
            problems_of_names(self.images.iter().map(|image| (image.id, image.file_name.as_str())));
        problems.extend(twice("category id", self.categories.iter().map(|category| category.id)));
        problems.extend(twice("annotation id", self.annotations.iter().map(|annotation| annotation.id)));
        let images: HashSet<u64> = self.images.iter().map(|image| image.id).collect();
        let categories: HashSet<u64> = self.categories.iter().map(|category| category.id).collect();
        for annotation in &self.annotations {
            let mut faults = Vec::new();
            if !images.contains(&annotation.image_id) {
                faults.push(AnnotationFault::NoImage(annotation.image_id));
            }
            if !categories.contains(&annotation.category_id) {
                faults.push(AnnotationFault::NoCategory(annotation.category_id));
            }
            if !matches!(annotation.bbox[..], [_, _, width, height] if width >= 0.0 && height >= 0.0) {
                faults.push(AnnotationFault::NoBox);
            }
            problems.extend(faults.into_iter().map(|fault| Problem::Annotation { id: annotation.id, fault }));
        }
        problems
    }
}

/// Returns problems with the ids and the names of images.
fn problems_of_names<'a>(images: impl Iterator<Item = (u64, &'a str)> + Clone) -> Vec<Problem> {
    let mut problems = twice("image id", images.clone().map(|(id, _)| id));
    problems.extend(twice("file_name", images.clone().map(|(_, name)| name)));
    let outside = images.map(|(_, name)| name).filter(|name| !stays_inside(name));
    problems.extend(outside.map(|name| Problem::Outside { name: name.to_owned() }));
    problems
}

/// Returns the repeated values.
fn twice<T: ToString + Eq + std::hash::Hash + Copy>(
    key: &'static str,
    values: impl Iterator<Item = T>,
) -> Vec<Problem> {
    let mut counts = HashMap::new();
    let mut problems = Vec::new();
    for value in values {
        let count = counts.entry(value).or_insert(0);
        *count += 1;
        if *count == 2 {
            problems.push(Problem::Twice { key, value: value.to_string() });
        }
    }
    problems
}
