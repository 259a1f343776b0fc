//! Enums whose values have names.

/// Lists the values of an enum as `ALL`, and gives each a name, which `Display` shows.
///
/// ```
/// #[derive(Debug, Clone, Copy, PartialEq)]
/// pub enum Side {
///     Left,
///     Right,
/// }
///
/// proctor_vocabulary::named_values!(Side { Left => "left", Right => "right" });
///
/// assert_eq!(Side::ALL, [Side::Left, Side::Right]);
/// assert_eq!((Side::NAMES, Side::Left.to_string()), (&["left", "right"][..], "left".to_owned()));
/// ```
#[macro_export]
macro_rules! named_values {
    ($type:ident { $($variant:ident => $name:expr),+ $(,)? }) => {
        impl $type {
            /// All values, in this order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];
            /// Names of the values, in the same order.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            /// Returns the name in files, settings and results.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }
        }

        impl ::core::fmt::Display for $type {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.pad(self.name())
            }
        }
    };
}
