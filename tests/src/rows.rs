//! Tables of cases, checked side by side.

use std::{collections::BTreeSet, thread};

use parking_lot::Mutex;

/// Checks the rows, `width` at a time, and fails with all the problems that `problem` finds.
///
/// # Panics
/// If there is a problem, or if `problem` panics.
pub fn check_rows<R: Sync>(rows: &[R], width: usize, problem: impl Fn(&R) -> Option<String> + Sync) {
    let (next, found) = (Mutex::new(rows.iter()), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let Some(row) = next.lock().next() else { return };
            if let Some(problem) = problem(row) {
                found.lock().push(problem);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..width {
            scope.spawn(work);
        }
    });
    let found = found.into_inner();
    assert!(found.is_empty(), "{} of {} rows:\n{}", found.len(), rows.len(), found.join("\n"));
}

/// Returns the rows with a kind that no row before them has: the first of each call, of each way, and so on.
pub fn first_of_each<R, K: Ord>(rows: Vec<R>, kinds: impl Fn(&R) -> Vec<K>) -> Vec<R> {
    let mut seen = BTreeSet::new();
    let mut is_new = |row: &R| {
        let known = seen.len();
        seen.extend(kinds(row));
        seen.len() > known
    };
    rows.into_iter().filter(|row| is_new(row)).collect()
}

/// Makes two tests of each table of rows: one of the first row of each kind, by `Row::kinds`, and, in the second tier,
/// one of all rows. `all_rows` returns the rows of all tables.
#[macro_export]
macro_rules! test_tables {
    ($(fn $name:ident() { $check:ident($rows:expr) })*) => {
        $(#[test]
        fn $name() {
            $check(&$crate::first_of_each($rows, Row::kinds));
        })*

        mod every_row {
            use super::*;

            $(#[test]
            fn $name() {
                $check(&$rows);
            })*
        }

        fn all_rows() -> Vec<Row> {
            [$($rows),*].concat()
        }
    };
}

#[cfg(test)]
mod tests {
    use std::panic;

    use super::*;

    #[test]
    fn every_problem_is_told() {
        check_rows(&[2, 4], 2, |row| (row % 2 == 1).then(|| row.to_string()));
        let all =
            panic::catch_unwind(|| check_rows(&[1, 2, 3], 2, |row| (row % 2 == 1).then(|| row.to_string())));
        let told = all.unwrap_err().downcast::<String>().expect("it is a text");
        assert!(told.starts_with("2 of 3 rows:\n") && told.contains('1') && told.contains('3'), "{told}");
    }

    #[test]
    fn what_every_row_before_has_is_left_out() {
        let rows = vec!["ax", "ay", "bx", "by", "cz"];
        let letters = |row: &&str| row.chars().collect();
        assert_eq!(first_of_each(rows, letters), ["ax", "ay", "bx", "cz"]);
    }
}
