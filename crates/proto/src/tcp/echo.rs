//! How a receiver tells of marks.

use super::config::Ecn;

/// The receiver's half of explicit congestion notification.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Echo {
    /// What acknowledgements say.
    pub(super) on: bool,
}

impl Echo {
    /// Data came. True: what was not acknowledged yet has to be, before this is counted, since its marks differ (RFC 8257 §3.2).
    #[inline]
    pub(super) fn on_data(&mut self, ecn: Ecn, marked: bool, cwr: bool) -> bool {
        match ecn {
            Ecn::Off => false,
            Ecn::Classic => {
                // RFC 3168 §6.1.3: until the sender has answered, and again if this very segment is marked.
                self.on = marked || self.on && !cwr;
                false
            }
            Ecn::Dctcp => std::mem::replace(&mut self.on, marked) != marked,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3168 §6.1.3.
    #[test]
    fn a_classic_echo_lasts_until_the_sender_has_answered() {
        let mut echo = Echo::default();
        let mut hear = |marked, cwr| {
            assert!(!echo.on_data(Ecn::Classic, marked, cwr));
            echo.on
        };
        assert_eq!([hear(false, false), hear(true, false), hear(false, false)], [false, true, true]);
        assert_eq!([hear(false, true), hear(true, true)], [false, true]);
    }

    /// RFC 8257 §3.2, figure 1.
    #[test]
    fn an_exact_echo_follows_the_marks() {
        let mut echo = Echo::default();
        let marks = [false, true, true, false, false];
        let turns: Vec<_> = marks.iter().map(|marked| echo.on_data(Ecn::Dctcp, *marked, false)).collect();
        assert_eq!(turns, [false, true, false, true, false]);
    }
}
