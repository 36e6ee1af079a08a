//! `cargo xtask soak peer`: many packets between endpoints, and with a kernel, over a link that loses, doubles and reorders
//! them.

use anyhow::Result;

use crate::shell::{self, command};

/// Frames to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Frames {
    /// Between two endpoints in memory.
    memory: u64,
    /// Between an endpoint and a kernel.
    kernel: u64,
}

impl Frames {
    /// Reads the arguments.
    pub(crate) fn from_args(args: &[String]) -> Result<Self, String> {
        let number = |at: usize, default: u64| {
            let text = args.get(at).map(String::as_str);
            text.map_or(Ok(default), |text| {
                text.parse().map_err(|_| format!("`soak peer` takes numbers of frames, not `{text}`"))
            })
        };
        match args {
            [peer, rest @ ..] if peer == "peer" && rest.len() <= 2 => {
                Ok(Self { memory: number(1, 100_000_000)?, kernel: number(2, 100_000)? })
            }
            _ => Err("`soak` takes `peer` and at most two numbers of frames".to_owned()),
        }
    }
}

/// Sends them; fails at the first wrong byte.
pub(crate) fn run(frames: &Frames) -> Result<()> {
    for (package, test, wanted) in [
        ("wiremend-peer", "swarm::soak", frames.memory),
        ("wiremend", "wire::peer_soak::kernel_soak", frames.kernel),
    ] {
        if wanted == 0 {
            continue;
        }
        let line = format!("cargo test --quiet --package {package} --profile test-release --test it");
        let mut test_run = command(&format!("{line} -- --ignored --exact {test} --nocapture"));
        shell::run(test_run.env("WIREMEND_SOAK_FRAMES", wanted.to_string()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_frames_have_defaults() {
        let frames =
            |words: &str| Frames::from_args(&words.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(frames("peer"), Ok(Frames { memory: 100_000_000, kernel: 100_000 }));
        assert_eq!(frames("peer 7 0"), Ok(Frames { memory: 7, kernel: 0 }));
        for wrong in ["", "relay", "peer x", "peer 1 2 3"] {
            assert!(frames(wrong).is_err(), "{wrong}");
        }
    }
}
