//! Colours of pixels, from the components of a file.

use crate::frame::Frame;

/// The meaning of a file's components.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColourSpace {
    /// Brightness alone.
    Grey,
    /// Red, green and blue.
    Rgb,
    /// Brightness and two differences of colour, as in JFIF.
    YCbCr,
    /// Inks: cyan, magenta, yellow, black.
    Cmyk,
    /// Cyan, magenta and yellow as differences of colour, and black.
    Ycck,
}

impl ColourSpace {
    /// Returns the meaning as libjpeg takes it, by the segments of JFIF and of Adobe, whose transform is `adobe`, and
    /// by the names of the components.
    pub(crate) fn of(frame: &Frame, is_jfif: bool, adobe: Option<u8>) -> Self {
        let ids: Vec<u8> = frame.components.iter().map(|component| component.id).collect();
        match (ids.len(), adobe) {
            (1, _) => Self::Grey,
            (3, _) if is_jfif => Self::YCbCr,
            (3, Some(0)) => Self::Rgb,
            (3, None) if ids == *b"RGB" => Self::Rgb,
            (3, _) => Self::YCbCr,
            (_, Some(2)) => Self::Ycck,
            _ => Self::Cmyk,
        }
    }
}

/// The factors of JFIF with 16 bits behind the point.
const RED_OF_CR: i32 = 91_881;
const GREEN_OF_CB: i32 = -22_554;
const GREEN_OF_CR: i32 = -46_802;
const BLUE_OF_CB: i32 = 116_130;
const HALF: i32 = 1 << 15;

#[inline(always)]
fn rgb(y: u8, cb: u8, cr: u8) -> [u8; 3] {
    let (y, cb, cr) = (i32::from(y), i32::from(cb) - 128, i32::from(cr) - 128);
    let red = y + ((RED_OF_CR * cr + HALF) >> 16);
    let green = y + ((GREEN_OF_CB * cb + GREEN_OF_CR * cr + HALF) >> 16);
    let blue = y + ((BLUE_OF_CB * cb + HALF) >> 16);
    [red.clamp(0, 255) as u8, green.clamp(0, 255) as u8, blue.clamp(0, 255) as u8]
}

/// Returns the colour of inks on white paper, as OpenCV computes it: Adobe stores them inverted.
#[inline(always)]
fn of_inks([cyan, magenta, yellow]: [u8; 3], black: u8) -> [u8; 4] {
    let black = i32::from(black);
    let [red, green, blue] =
        [cyan, magenta, yellow].map(|ink| (black - (((255 - i32::from(ink)) * black) >> 8)) as u8);
    [red, green, blue, 0]
}

/// Writes the pixels of a row from the samples of its components in `rows`.
#[inline(always)]
pub(crate) fn write_row(space: ColourSpace, rows: &[&[u8]], pixels: &mut [[u8; 4]]) {
    match (space, rows) {
        (ColourSpace::Grey, [grey]) => {
            for (pixel, grey) in pixels.iter_mut().zip(*grey) {
                *pixel = [*grey, *grey, *grey, 0];
            }
        }
        (ColourSpace::Rgb, [red, green, blue]) => {
            for (pixel, ((red, green), blue)) in pixels.iter_mut().zip(red.iter().zip(*green).zip(*blue)) {
                *pixel = [*red, *green, *blue, 0];
            }
        }
        (ColourSpace::YCbCr, [y, cb, cr]) => {
            for (pixel, ((y, cb), cr)) in pixels.iter_mut().zip(y.iter().zip(*cb).zip(*cr)) {
                let [red, green, blue] = rgb(*y, *cb, *cr);
                *pixel = [red, green, blue, 0];
            }
        }
        (ColourSpace::Cmyk | ColourSpace::Ycck, [a, b, c, black]) => {
            for (pixel, (((a, b), c), black)) in pixels.iter_mut().zip(a.iter().zip(*b).zip(*c).zip(*black)) {
                let inks = match space {
                    ColourSpace::Ycck => rgb(*a, *b, *c).map(|value| 255 - value),
                    _ => [*a, *b, *c],
                };
                *pixel = of_inks(inks, *black);
            }
        }
        _ => unreachable!("the colour space is that of the number of components"),
    }
}
