//! Many packets between `wiremend peer` and the RoCE of a kernel while frames are lost, doubled and overtaken. `rping`
//! reads what the peer names and writes it back, and every byte is compared.

use super::peer::{GUEST, SHORT, with_guest};
use crate::program::wiremend;

/// 1 % of the frames in each direction, for each fault.
const FAULTS: [&str; 6] = ["--drop", "--drop", "--double", "--double", "--delay", "--delay"];
/// Bytes of a ping, which crosses four times: read and written, as packets and as their acknowledgements.
const SIZE: &str = "16000B";

/// Pings the kernel until this number of frames has passed. Returns the frames and the pings.
fn soak(frames_wanted: u64, pings: &str) -> (u64, u64) {
    let (mut frames, mut total) = (0, 0);
    with_guest(|guest, _| {
        guest.run("rping -s -P -S 16000 >/run/server 2>&1 &", SHORT).unwrap();
        let mut seed = 0;
        while frames < frames_wanted {
            seed += 1;
            let (host, seed) = (GUEST.to_string(), seed.to_string());
            let mut arguments = vec!["peer", "ping", &host, "--with", "rping", "--size", SIZE, "--json"];
            arguments.extend([
                "--iterations",
                pings,
                "--timeout",
                "9ms",
                "--retries",
                "inf",
                "--seed",
                &seed,
            ]);
            for (fault, rule) in FAULTS.into_iter().zip(["in 1/100", "out 1/100"].into_iter().cycle()) {
                arguments.extend([fault, rule]);
            }
            let ended = wiremend(&arguments);
            if ended.code == Some(2) && ended.stderr.contains("refuses with reason 8") {
                continue;
            }
            assert_eq!(ended.code, Some(0), "seed {seed}: {}", ended.stderr);
            let numbers = ended.json();
            frames += numbers["frames_in"].as_u64().unwrap() + numbers["frames_out"].as_u64().unwrap();
            total += numbers["messages"].as_u64().unwrap();
            println!("{frames} frames, {total} pings");
        }
    });
    (frames, total)
}

#[test]
fn every_byte_is_right_with_a_kernel_over_a_link_that_loses_doubles_and_reorders() {
    let (frames, pings) = soak(2_000, "40");
    // Without guests the test is skipped.
    assert!(frames == 0 || pings >= 40, "{frames} frames, {pings} pings");
}

/// As many frames as `WIREMEND_SOAK_FRAMES` says: `cargo xtask soak peer`.
#[test]
#[ignore = "takes as long as it is told to"]
fn kernel_soak() {
    let wanted = std::env::var("WIREMEND_SOAK_FRAMES").map_or(100_000, |text| text.parse().unwrap());
    let (frames, pings) = soak(wanted, "500");
    println!("{frames} frames, {pings} pings: every byte is right");
}
