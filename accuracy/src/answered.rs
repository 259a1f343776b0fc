//! The class that each of a few samples was answered with, by the names of the samples and of the classes, for people.

use std::path::Path;

use crate::{
    check::AccuracyCheck,
    error::AccuracyError,
    labels::class_names,
    log::{LogRecord, read_log},
    metric::top1,
    source::AnswerSource,
};

/// Class that a sample was answered with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// Name of the sample.
    pub sample: String,
    /// Class of the response, whether or not it exists; `None` if the response names none.
    pub class: Option<i64>,
    /// Name of the class, if it exists.
    pub class_name: Option<&'static str>,
}

impl AccuracyCheck {
    /// Returns what each sample of a log was answered with, in the order of the samples; nothing if the samples
    /// or the classes have no names, or if there are more samples than `count_max`.
    ///
    /// # Errors
    /// [`AccuracyError`] if the log cannot be read.
    pub fn answered(&self, log: &Path, count_max: usize) -> Result<Vec<Answered>, AccuracyError> {
        let AnswerSource::Labels { dataset, published: Some(samples) } = &self.answers else {
            return Ok(Vec::new());
        };
        let class_names = class_names(dataset);
        if self.metric != top1::NAME || class_names.is_empty() || samples.names.len() > count_max {
            return Ok(Vec::new());
        }
        let mut records = read_log(log)?;
        records.sort_by_key(|record| record.qsl_idx);
        records.dedup_by_key(|record| record.qsl_idx);
        let answered = |record: LogRecord| {
            let sample = samples.names.get(usize::try_from(record.qsl_idx).ok()?)?.clone();
            let class = top1::class(self.response, &record.data).ok().flatten();
            let place = class.and_then(|class| usize::try_from(class).ok());
            Some(Answered {
                sample,
                class,
                class_name: place.and_then(|place| class_names.get(place).copied()),
            })
        };
        Ok(records.into_iter().filter_map(answered).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::PathBuf};

    use proctor_vocabulary::ElementType;

    use super::*;
    use crate::{labels::PublishedSamples, response::ResponseForm};

    #[test]
    fn samples_are_told_with_the_names_of_their_classes() {
        let names = ["a.jpg", "b.jpg"].map(str::to_owned).to_vec();
        let published = Some(PublishedSamples { folder: PathBuf::new(), names });
        let check = AccuracyCheck {
            answers: AnswerSource::Labels { dataset: "photographs".into(), published },
            metric: "top1".into(),
            response: ResponseForm::exactly(ElementType::I64, 1),
            tolerance: None,
            reference_value: 1.0,
            target_ratio: 1.0,
            padding_record_count: 0,
            performance_seq_id: None,
        };
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log.json");
        let record = |index, class: i64| {
            let data: String = class.to_le_bytes().iter().map(|byte| format!("{byte:02X}")).collect();
            format!("{{ \"seq_id\" : 0, \"qsl_idx\" : {index}, \"data\" : \"{data}\" }}")
        };
        let records = [record(1, 1000), record(0, 282), record(0, 7)];
        fs::write(&log, format!("[\n{}\n]\n", records.join(",\n"))).unwrap();
        let found = check.answered(&log, 2).unwrap();
        let found: Vec<_> = found.iter().map(|it| (&*it.sample, it.class, it.class_name)).collect();
        assert_eq!(found, [("a.jpg", Some(282), Some("tiger cat")), ("b.jpg", Some(1000), None)]);
        assert_eq!(check.answered(&log, 1).unwrap(), []);
        let coco = AnswerSource::Labels { dataset: "coco".into(), published: None };
        assert_eq!(AccuracyCheck { answers: coco, ..check }.answered(&log, 2).unwrap(), []);
    }
}
