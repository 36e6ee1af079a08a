//! Widths of drawings.

/// For which width of a page a drawing is made: its text has the same size in each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Width {
    /// A screen or a printed page.
    Wide,
    /// A phone.
    Narrow,
}

impl Width {
    /// Width of the drawing in CSS pixels.
    pub(crate) const fn units(self) -> f64 {
        match self {
            Self::Wide => 760.0,
            Self::Narrow => 360.0,
        }
    }

    pub(crate) const fn is_narrow(self) -> bool {
        matches!(self, Self::Narrow)
    }
}

/// A drawing for pages of both widths; the page shows the one that fits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Drawing {
    pub(crate) wide: String,
    pub(crate) narrow: String,
}

impl Drawing {
    /// Makes both drawings.
    pub fn new(draw: impl Fn(Width) -> String) -> Self {
        Self { wide: draw(Width::Wide), narrow: draw(Width::Narrow) }
    }
}
