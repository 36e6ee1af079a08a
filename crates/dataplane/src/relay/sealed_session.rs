//! Seals control frames with the key of the link, and accepts those of the other end, each once.
//!
//! Each end counts its sealed frames from a random start and echoes the latest counter of the other end. A
//! counter that grows is of the same run of the other end. Any other counter is of another run, or of an old
//! frame that somebody repeats. Only a run of now can echo a counter that this end has sent since it accepted
//! the previous run, so an end that gets another counter asks for that by a challenge.
//!
//! ```text
//!   A (new)                         B
//!   open, counter a, echo 0 ──────► not of this run: challenge
//!   echo a is of now ◄───────────── challenge, counter b, echo a
//!   open, counter a + 1, echo b ──► echo b is of now: accepted
//! ```

use wiremend_units::{Span, Time};
use wiremend_wire::link::{Hello, HelloKind, LinkHeader, Seal};

use super::LinkKey;

#[derive(Debug)]
pub(super) struct SealedSession {
    key: LinkKey,
    /// Counter of the last frame that left.
    sent: u64,
    /// `sent` when the run of the other end was accepted. Echoes of later counters are of now.
    sent_before_peer: u64,
    /// Latest counter of the other end.
    peer: Option<u64>,
    /// Counter that the next challenge echoes.
    challenged: Option<u64>,
    /// Earliest time of the next challenge.
    challenge_at: Time,
}

/// Why a control frame does not count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SealError {
    Missing,
    WrongTag,
    /// It has been accepted before, or it is of another run and does not echo a counter of now.
    Old,
}

/// Counters of the same run differ by less; those of two runs have random starts.
const RUN_FRAMES_MAX: u64 = 1 << 40;
/// Minimum interval of challenges.
const CHALLENGE_GAP: Span = Span::from_us(100);

impl SealedSession {
    /// `start` is random.
    pub(super) fn new(key: LinkKey, start: u64) -> Self {
        Self {
            key,
            sent: start,
            sent_before_peer: start,
            peer: None,
            challenged: None,
            challenge_at: Time::ZERO,
        }
    }

    pub(super) fn key(&self) -> &LinkKey {
        &self.key
    }

    /// Seals the control frame at the start of `frame`.
    pub(super) fn seal(&mut self, frame: &mut [u8; Seal::FRAME_BYTES], echo: Option<u64>) {
        self.sent = self.sent.wrapping_add(1);
        let echo = echo.or(self.peer).unwrap_or(0);
        Seal::emit(frame, self.sent, echo, |covered| self.key.tag(covered));
    }

    /// Whether a control frame is from the other end, and not an old one.
    pub(super) fn check(&mut self, now: Time, frame: &[u8]) -> Result<(), SealError> {
        let Some((Seal { counter, echo, tag }, covered)) = Seal::parse(frame) else {
            return Err(SealError::Missing);
        };
        if !is_equal(&self.key.tag(covered), &tag) {
            return Err(SealError::WrongTag);
        }
        if let Some(last) = self.peer {
            if (1..RUN_FRAMES_MAX).contains(&counter.wrapping_sub(last)) {
                self.peer = Some(counter);
                return Ok(());
            }
            if last.wrapping_sub(counter) < RUN_FRAMES_MAX {
                return Err(SealError::Old);
            }
        }
        let sent_since = self.sent.wrapping_sub(self.sent_before_peer);
        if (1..=sent_since).contains(&echo.wrapping_sub(self.sent_before_peer)) {
            (self.peer, self.sent_before_peer) = (Some(counter), self.sent);
            return Ok(());
        }
        if self.challenge_at <= now {
            self.challenge_at = now + CHALLENGE_GAP;
            self.challenged = Some(counter);
        }
        Err(SealError::Old)
    }

    /// Returns a challenge that is due, and the counter that its seal echoes.
    #[inline]
    pub(super) fn poll_challenge(&mut self) -> Option<(LinkHeader, u64)> {
        let echo = self.challenged.take()?;
        let hello = Hello { kind: HelloKind::Challenge, epoch: 0, stamp_ns: 0, rtt_ns: 0 };
        Some((LinkHeader::Hello(hello), echo))
    }

    #[inline]
    pub(super) fn is_challenge_due(&self) -> bool {
        self.challenged.is_some()
    }
}

/// Compares in a time that does not depend on the contents.
fn is_equal<const N: usize>(a: &[u8; N], b: &[u8; N]) -> bool {
    a.iter().zip(b).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(start: u64) -> SealedSession {
        SealedSession::new(LinkKey::new(&[7; 32]), start)
    }

    fn sealed(session: &mut SealedSession, echo: Option<u64>) -> [u8; Seal::FRAME_BYTES] {
        let mut frame = [0; Seal::FRAME_BYTES];
        session.seal(&mut frame, echo);
        frame
    }

    /// Passes frames both ways until both ends accept each other. Returns those of `a`.
    fn introduce(a: &mut SealedSession, b: &mut SealedSession) -> Vec<[u8; Seal::FRAME_BYTES]> {
        let mut frames = Vec::new();
        for ms in 0..10 {
            let now = Time::from_ns(ms * 1_000_000);
            for turn in 0..2 {
                let (from, to) = if turn == 0 { (&mut *a, &mut *b) } else { (&mut *b, &mut *a) };
                let echo = from.poll_challenge().map(|(_, echo)| echo);
                let frame = sealed(from, echo);
                if turn == 0 {
                    frames.push(frame);
                }
                let _ = to.check(now, &frame);
            }
        }
        let frame = sealed(a, None);
        assert_eq!(b.check(Time::from_ns(1), &frame), Ok(()));
        frames.push(frame);
        let answer = sealed(b, None);
        assert_eq!(a.check(Time::from_ns(1), &answer), Ok(()));
        frames
    }

    #[test]
    fn ends_with_the_same_key_accept_each_other_and_no_frame_twice() {
        let (mut a, mut b) = (session(u64::MAX - 2), session(1 << 50));
        for frame in introduce(&mut a, &mut b) {
            assert_eq!(b.check(Time::from_ns(1), &frame), Err(SealError::Old));
        }
        assert!(b.check(Time::from_ns(1), &sealed(&mut a, None)).is_ok());
    }

    #[test]
    fn restarted_end_is_accepted_and_its_earlier_run_is_not() {
        let (mut a, mut b) = (session(1), session(1 << 50));
        let first_run = introduce(&mut a, &mut b);
        let mut a = session(1 << 60);
        introduce(&mut a, &mut b);
        for frame in first_run {
            assert_eq!(b.check(Time::from_ns(1), &frame), Err(SealError::Old));
        }
        assert!(b.check(Time::from_ns(1), &sealed(&mut a, None)).is_ok());
    }

    #[test]
    fn frames_without_the_key_are_refused() {
        let (mut a, mut b) = (session(1), session(1 << 50));
        introduce(&mut a, &mut b);
        let frame = sealed(&mut a, None);
        assert_eq!(b.check(Time::ZERO, &frame[..60]), Err(SealError::Missing));
        for at in 0..frame.len() {
            let mut forged = frame;
            forged[at] ^= 1;
            let refused = if (60..64).contains(&at) { SealError::Missing } else { SealError::WrongTag };
            assert_eq!(b.check(Time::ZERO, &forged), Err(refused), "{at}");
        }
        let mut other = SealedSession::new(LinkKey::new(&[8; 32]), 1);
        assert_eq!(b.check(Time::ZERO, &sealed(&mut other, None)), Err(SealError::WrongTag));
        assert_eq!(b.check(Time::ZERO, &frame), Ok(()));
    }

    #[test]
    fn old_frames_cause_few_challenges() {
        let (mut a, mut b) = (session(1), session(1 << 50));
        let old = sealed(&mut a, None);
        let challenges = (0..1000).filter(|ns| {
            let _ = b.check(Time::from_ns(*ns), &old);
            b.poll_challenge().is_some()
        });
        assert_eq!(challenges.count(), 1);
    }
}
