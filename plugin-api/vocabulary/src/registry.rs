//! Things that register themselves, and are found by their names.
//!
//! Each kind of thing (data sets, metrics, policies, ...) is a struct whose crate collects it; this is what all kinds
//! share once they are collected. Nothing here knows how that is done.

use crate::nearest::did_you_mean;

/// A thing with a registered name.
pub trait Named: 'static {
    /// The kind of thing, as errors call it, such as `data set`.
    const KIND: &'static str;

    /// Returns the name, which no other thing of the kind has.
    fn name(&self) -> &'static str;
}

/// The name is unknown among the things of a kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown {kind} \"{name}\"{hint}; known are {known}")]
pub struct UnknownName {
    /// The kind of thing.
    pub kind: &'static str,
    /// The name as given.
    pub name: String,
    /// A suggestion, or empty.
    pub hint: String,
    /// All names that there are, separated by commas.
    pub known: String,
}

impl UnknownName {
    /// Creates the error for a name that is not among `known`.
    #[must_use]
    pub fn new(kind: &'static str, name: &str, known: &[&str]) -> Self {
        let hint = did_you_mean(name, known.iter().copied());
        Self { kind, name: name.to_owned(), hint, known: known.join(", ") }
    }
}

/// Returns the registered things in the order of their names.
///
/// # Panics
/// If two things have the same name: one of them would never be found.
#[must_use]
pub fn sorted<T: Named>(registered: impl IntoIterator<Item = &'static T>) -> Vec<&'static T> {
    let mut things: Vec<_> = registered.into_iter().collect();
    things.sort_by_key(|thing| thing.name());
    for pair in things.windows(2) {
        assert_ne!(pair[0].name(), pair[1].name(), "{} registered twice", T::KIND);
    }
    things
}

/// Returns the registered thing of this name.
///
/// # Errors
/// [`UnknownName`] with a suggestion and all names.
pub fn find<T: Named>(
    registered: impl IntoIterator<Item = &'static T>,
    name: &str,
) -> Result<&'static T, UnknownName> {
    let things = sorted(registered);
    things.iter().copied().find(|thing| thing.name() == name).ok_or_else(|| {
        UnknownName::new(T::KIND, name, &things.iter().map(|thing| thing.name()).collect::<Vec<_>>())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    struct Fruit(&'static str);

    impl Named for Fruit {
        const KIND: &'static str = "fruit";

        fn name(&self) -> &'static str {
            self.0
        }
    }

    static FRUITS: [Fruit; 2] = [Fruit("pear"), Fruit("apple")];

    #[test]
    fn things_are_found_by_their_names_and_listed_in_order() {
        assert_eq!(find(&FRUITS, "pear"), Ok(&FRUITS[0]));
        assert_eq!(sorted(&FRUITS), [&FRUITS[1], &FRUITS[0]]);
        let error = find(&FRUITS, "aple").unwrap_err().to_string();
        assert_eq!(error, "unknown fruit \"aple\", did you mean \"apple\"?; known are apple, pear");
    }

    #[test]
    #[should_panic(expected = "fruit registered twice")]
    fn a_name_belongs_to_one_thing() {
        static TWINS: [Fruit; 2] = [Fruit("pear"), Fruit("pear")];
        drop(sorted(&TWINS));
    }
}
