//! perftest between two guests: `ib_write_lat` and `ib_write_bw`.

use std::time::Duration;

use wiremend_units::Span;

use super::error::GuestError;
use super::guest::{Guest, SHORT_LIMIT};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PerftestArguments {
    /// Message size.
    pub(crate) bytes: u32,
    pub(crate) iterations: u32,
    /// The retransmission timeout is 4.096 µs · 2^this (IBA 9.7.6.1.3).
    pub(crate) timeout_exponent: u8,
    pub(crate) limit: Duration,
}

/// Result of `ib_write_lat`: half of the round trip.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Latency {
    pub(crate) min: Span,
    pub(crate) max: Span,
    pub(crate) typical: Span,
    pub(crate) average: Span,
    pub(crate) p99: Span,
    pub(crate) p999: Span,
}

/// Result of `ib_write_bw` in MiB/s; its "MB" is 2²⁰ bytes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Bandwidth {
    pub(crate) average_mib_per_s: f64,
}

pub(crate) fn write_latency(
    server: &mut Guest,
    client: &mut Guest,
    arguments: PerftestArguments,
) -> Result<Latency, GuestError> {
    measure("ib_write_lat", server, client, arguments, Latency::parse)
}

pub(crate) fn write_bandwidth(
    server: &mut Guest,
    client: &mut Guest,
    arguments: PerftestArguments,
) -> Result<Bandwidth, GuestError> {
    measure("ib_write_bw", server, client, arguments, Bandwidth::parse)
}

/// Waits for a server on port 18515. In `/proc/net/tcp` are local address, remote address, state.
pub(crate) const AWAIT_SERVER: &str =
    "until grep -q ':4853 [0-9A-F]*:0000 0A' /proc/net/tcp /proc/net/tcp6; do sleep 0.1; done";
/// perftest measures the speed of the CPU clock first, which sometimes fails on a busy machine.
const ATTEMPTS: u32 = 6;

impl PerftestArguments {
    /// Command line: `RoCEv2` over IPv4, MTU 1024, without the check of the CPU frequency.
    fn line(self, program: &str) -> String {
        let Self { bytes, iterations, timeout_exponent, .. } = self;
        format!("{program} -d rxe0 -x 1 -m 1024 -F -s {bytes} -n {iterations} -u {timeout_exponent}")
    }
}

fn measure<R>(
    program: &str,
    server: &mut Guest,
    client: &mut Guest,
    arguments: PerftestArguments,
    parse: fn(&str) -> Option<R>,
) -> Result<R, GuestError> {
    let line = arguments.line(program);
    let mut text = String::new();
    for _ in 0..ATTEMPTS {
        let process = server.read(&format!("{line} >/run/server 2>&1 & echo $!"), SHORT_LIMIT)?;
        let process = process.trim();
        server.read(AWAIT_SERVER, SHORT_LIMIT)?;
        let output = client.run(&format!("{line} {}", server.address()), arguments.limit)?;
        // A server that had a client exits by itself.
        server.run(&format!("kill -KILL {process}"), SHORT_LIMIT)?;
        text = output.text;
        if !clock_failed(&text) {
            let unreadable = || GuestError::Refused {
                guest: client.name().to_owned(),
                command: line.clone(),
                status: output.status,
                output: text.trim().to_owned(),
            };
            return parse(&text).filter(|_| output.status == 0).ok_or_else(unreadable);
        }
    }
    Err(GuestError::Unexpected(format!("`{line}` could not measure the speed of its clock: {}", text.trim())))
}

/// Returns whether perftest failed to measure its clock: it prints r^2, or an impossible time.
fn clock_failed(text: &str) -> bool {
    text.contains("r^2") || text.contains(" inf") || text.contains(" nan")
}

impl Latency {
    fn parse(text: &str) -> Option<Self> {
        let [_bytes, _iterations, times @ ..]: [f64; 9] = row(text, "t_min[usec]")?;
        // perftest prints µs with two decimals.
        let [min, max, typical, average, _deviation, p99, p999] =
            times.map(|us| Span::from_ps((us * 1e6).round() as u64));
        (max > Span::ZERO).then_some(Self { min, max, typical, average, p99, p999 })
    }
}

impl Bandwidth {
    fn parse(text: &str) -> Option<Self> {
        let [_bytes, _iterations, _peak, average_mib_per_s, _messages] = row(text, "BW average[MB/sec]")?;
        (average_mib_per_s > 0.0).then_some(Self { average_mib_per_s })
    }
}

/// Parses the numbers in the line after the column names.
fn row<const N: usize>(text: &str, column: &str) -> Option<[f64; N]> {
    let mut lines = text.lines();
    lines.find(|line| line.trim_start().starts_with("#bytes") && line.contains(column))?;
    let numbers: Option<Vec<f64>> =
        lines.next()?.split_whitespace().map(|number| number.parse().ok()).collect();
    numbers?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATENCY: &str = " \
---------------------------------------------------------------------------------------
 #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]
 8       500          253.31         2754.10      427.27     \t       595.36      \t120.44\t\t2700.12\t\t2754.10
---------------------------------------------------------------------------------------
";
    const BANDWIDTH: &str = "
 #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
 65536      100              12.01              11.90 \t\t   0.000190
";

    #[test]
    fn perftest_output_is_parsed() {
        let latency = Latency::parse(LATENCY).unwrap();
        let [min, max, typical] = [253_310, 2_754_100, 427_270].map(Span::from_ns);
        assert_eq!((latency.min, latency.max, latency.typical), (min, max, typical));
        let [average, p99, p999] = [595_360, 2_700_120, 2_754_100].map(Span::from_ns);
        assert_eq!((latency.average, latency.p99, latency.p999), (average, p99, p999));
        assert_eq!(Bandwidth::parse(BANDWIDTH), Some(Bandwidth { average_mib_per_s: 11.9 }));
    }

    #[test]
    fn malformed_output_is_rejected() {
        assert_eq!(Latency::parse(BANDWIDTH), None);
        assert_eq!(Bandwidth::parse(LATENCY), None);
        assert_eq!(Latency::parse(""), None);
        assert_eq!(Bandwidth::parse(&BANDWIDTH.replace("11.90", "0.00")), None);
        assert_eq!(Latency::parse(LATENCY.split_once("\n 8").unwrap().0), None);
    }

    #[test]
    fn failed_clock_measurement_is_detected() {
        assert!(clock_failed("Correlation coefficient r^2: 0.84 < 0.9\n"));
        assert!(clock_failed(&BANDWIDTH.replace("11.90", "inf")));
        assert!(!clock_failed(LATENCY) && !clock_failed(BANDWIDTH));
    }

    #[test]
    fn command_line_contains_the_timeout() {
        let arguments =
            PerftestArguments { bytes: 8, iterations: 300, timeout_exponent: 16, limit: SHORT_LIMIT };
        assert_eq!(arguments.line("ib_write_lat"), "ib_write_lat -d rxe0 -x 1 -m 1024 -F -s 8 -n 300 -u 16");
    }
}
