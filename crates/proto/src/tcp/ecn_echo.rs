//! ECN echo of the receiver.

use super::config::Ecn;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EcnEcho {
    /// Value of ECE in ACKs.
    pub(super) on: bool,
}

impl EcnEcho {
    /// Updates the echo. True: bytes received before must be acknowledged first, with the old value (RFC 8257
    /// §3.2).
    #[inline]
    pub(super) fn on_data(&mut self, ecn: Ecn, marked: bool, cwr: bool) -> bool {
        match ecn {
            Ecn::Off => false,
            Ecn::Classic => {
                // RFC 3168 §6.1.3: until CWR, and again if the CWR segment itself is marked.
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
    fn classic_echo_lasts_until_cwr() {
        let mut echo = EcnEcho::default();
        let mut hear = |marked, cwr| {
            assert!(!echo.on_data(Ecn::Classic, marked, cwr));
            echo.on
        };
        assert_eq!([hear(false, false), hear(true, false), hear(false, false)], [false, true, true]);
        assert_eq!([hear(false, true), hear(true, true)], [false, true]);
    }

    /// RFC 8257 §3.2, figure 1.
    #[test]
    fn dctcp_echo_follows_the_marks() {
        let mut echo = EcnEcho::default();
        let marks = [false, true, true, false, false];
        let turns: Vec<_> = marks.iter().map(|marked| echo.on_data(Ecn::Dctcp, *marked, false)).collect();
        assert_eq!(turns, [false, true, false, true, false]);
    }
}
