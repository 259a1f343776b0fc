//! The classes of characters that BERT's tokenizer distinguishes.

use unicode_properties::{
    GeneralCategory::{NonspacingMark, SpaceSeparator},
    GeneralCategoryGroup::{Other, Punctuation},
    UnicodeGeneralCategory,
};

/// Returns a space, a tab, the ends of lines, and the category Zs.
pub(crate) fn is_space(c: char) -> bool {
    match c {
        ' ' | '\t' | '\n' | '\r' => true,
        _ => !c.is_ascii() && c.general_category() == SpaceSeparator,
    }
}

/// Returns whether a character is dropped: NUL, the replacement character, and the categories C*, except spaces.
pub(crate) fn is_dropped(c: char) -> bool {
    match c {
        '\t' | '\n' | '\r' => false,
        '\u{fffd}' => true,
        _ if c.is_ascii() => c.is_ascii_control(),
        _ => c.general_category_group() == Other,
    }
}

/// Returns whether a character is its own token: ASCII that is neither letter, digit nor space, and the categories P*.
pub(crate) fn is_punctuation(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_punctuation() } else { c.general_category_group() == Punctuation }
}

/// Returns whether a character modifies the previous one, such as an accent: the category Mn.
pub(crate) fn is_accent(c: char) -> bool {
    !c.is_ascii() && c.general_category() == NonspacingMark
}

/// Returns whether a character is an ideograph, which is its own word. The blocks are the reference's: later extensions
/// are not among them.
pub(crate) fn is_ideograph(c: char) -> bool {
    matches!(c,
        '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{2a6df}'
        | '\u{2a700}'..='\u{2b73f}'
        | '\u{2b740}'..='\u{2b81f}'
        | '\u{2b820}'..='\u{2ceaf}'
        | '\u{2f800}'..='\u{2fa1f}')
}
