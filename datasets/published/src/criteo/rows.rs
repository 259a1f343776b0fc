//! Rows of a day file: a label, 13 counts, 26 categories, separated by tabs.

use crate::defect::{LineFault, RowField};

/// Number of counts of a row.
pub const COUNT_FIELDS: usize = 13;
/// Number of categories of a row.
pub const CATEGORY_FIELDS: usize = 26;
/// Number of values of a row without its label.
pub const FIELDS: usize = COUNT_FIELDS + CATEGORY_FIELDS;
/// Number of bytes shown of a wrong field: in a file of another kind it may continue to the end.
const SHOWN_BYTES: usize = 40;

/// Reads a line without its end: appends the counts and the hashes, and returns the label. An empty field is a 0.
pub(crate) fn parse(line: &[u8], row: &mut Vec<i32>) -> Result<bool, LineFault> {
    let fault = |field, text: &[u8]| {
        let shown = &text[..text.len().min(SHOWN_BYTES)];
        LineFault::Field { field, text: String::from_utf8_lossy(shown).into_owned() }
    };
    let mut fields = line.split(|byte| *byte == b'\t');
    let label = fields.next().unwrap_or_default();
    let is_click = match label {
        b"0" => false,
        b"1" => true,
        _ => return Err(fault(RowField::Click, label)),
    };
    let start = row.len();
    for (index, text) in fields.by_ref().take(FIELDS).enumerate() {
        let value = if index < COUNT_FIELDS { count(text) } else { hash(text) };
        let field = if index < COUNT_FIELDS { RowField::Count } else { RowField::Category };
        row.push(value.ok_or_else(|| fault(field, text))?);
    }
    let got = 1 + row.len() - start + fields.count();
    if got == 1 + FIELDS { Ok(is_click) } else { Err(LineFault::Fields { expected: 1 + FIELDS, got }) }
}

fn count(text: &[u8]) -> Option<i32> {
    if text.is_empty() {
        return Some(0);
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn hash(text: &[u8]) -> Option<i32> {
    if text.len() > 8 {
        return None;
    }
    text.iter()
        .try_fold(0_u32, |hash, digit| Some(hash << 4 | char::from(*digit).to_digit(16)?))
        .map(u32::cast_signed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(label: &str, count: &str, category: &str) -> String {
        let counts = vec![count; COUNT_FIELDS].join("\t");
        format!("{label}\t{counts}\t{}", vec![category; CATEGORY_FIELDS].join("\t"))
    }

    #[test]
    fn a_row_is_read_and_an_empty_field_is_zero() {
        let mut row = Vec::new();
        assert_eq!(parse(line("1", "-3", "ff00ab01").as_bytes(), &mut row), Ok(true));
        assert_eq!(parse(line("0", "", "").as_bytes(), &mut row), Ok(false));
        assert_eq!((row.len(), row[0], row[13].cast_unsigned()), (78, -3, 0xff00_ab01));
        assert!(row[39..].iter().all(|value| *value == 0));
    }

    #[test]
    fn faults_are_named() {
        let fault = |text: &str| parse(text.as_bytes(), &mut Vec::new()).unwrap_err();
        let field = |field, text: &str| LineFault::Field { field, text: text.to_owned() };
        assert_eq!(fault(&line("2", "1", "a")), field(RowField::Click, "2"));
        assert_eq!(fault(&line("1", "1.5", "a")), field(RowField::Count, "1.5"));
        assert_eq!(fault(&line("1", "1", "x1")), field(RowField::Category, "x1"));
        assert_eq!(fault(&line("1", "1", "123456789")), field(RowField::Category, "123456789"));
        assert_eq!(fault("1\t2"), LineFault::Fields { expected: 40, got: 2 });
        assert_eq!(fault(&(line("1", "1", "a") + "\tb\tc")), LineFault::Fields { expected: 40, got: 42 });
        assert_eq!(fault(""), field(RowField::Click, ""));
        assert_eq!(fault(&"x".repeat(1000)), field(RowField::Click, &"x".repeat(40)));
    }
}
