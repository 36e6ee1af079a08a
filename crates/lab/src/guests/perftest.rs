//! What two guests measure between them: `ib_write_lat` and `ib_write_bw` of perftest, with the server in one and the client in the other.

use std::time::Duration;

use wiremend_units::Span;

use super::guest::{Guest, SHORT};
use super::trouble::Trouble;

/// A measurement that is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Asked {
    /// Of a message.
    pub(crate) bytes: u32,
    /// Messages, one after the other.
    pub(crate) iterations: u32,
    /// The retransmission timeout is 4.096 µs · 2^this (IBA 9.7.6.1.3).
    pub(crate) timeout_exponent: u8,
    /// It may take so long.
    pub(crate) limit: Duration,
}

/// Half of the round trip, as `ib_write_lat` tells it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Latency {
    pub(crate) min: Span,
    pub(crate) max: Span,
    pub(crate) typical: Span,
    pub(crate) average: Span,
    pub(crate) p99: Span,
    pub(crate) p999: Span,
}

/// What `ib_write_bw` tells, in MiB/s; it says MB and means 2²⁰ bytes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Bandwidth {
    pub(crate) average_mib_per_s: f64,
}

/// Measures the latency of WRITEs from the client's guest to the server's.
pub(crate) fn write_latency(
    server: &mut Guest,
    client: &mut Guest,
    asked: Asked,
) -> Result<Latency, Trouble> {
    measure("ib_write_lat", server, client, asked, Latency::parse)
}

/// Measures the bandwidth of WRITEs from the client's guest to the server's.
pub(crate) fn write_bandwidth(
    server: &mut Guest,
    client: &mut Guest,
    asked: Asked,
) -> Result<Bandwidth, Trouble> {
    measure("ib_write_bw", server, client, asked, Bandwidth::parse)
}

/// A server that waits for its client on port 18515, as `/proc/net/tcp` has it: local address, remote address, state.
const LISTENING: &str = ":4853 [0-9A-F]*:0000 0A";
/// perftest takes the speed of the processor's clock first. On a busy machine it fails now and then, and has to do it again.
const TRIES: u32 = 6;

impl Asked {
    /// Over the address of `RoCEv2` and IPv4, with frames that fit everywhere, and without questions about the clock.
    fn line(self, program: &str) -> String {
        let Self { bytes, iterations, timeout_exponent, .. } = self;
        format!("{program} -d rxe0 -x 1 -m 1024 -F -s {bytes} -n {iterations} -u {timeout_exponent}")
    }
}

fn measure<R>(
    program: &str,
    server: &mut Guest,
    client: &mut Guest,
    asked: Asked,
    parse: fn(&str) -> Option<R>,
) -> Result<R, Trouble> {
    let line = asked.line(program);
    let mut text = String::new();
    for _ in 0..TRIES {
        let process = server.read(&format!("{line} >/run/server 2>&1 & echo $!"), SHORT)?;
        let process = process.trim();
        let listening =
            format!("until grep -q '{LISTENING}' /proc/net/tcp /proc/net/tcp6; do sleep 0.1; done");
        server.read(&listening, SHORT)?;
        let output = client.run(&format!("{line} {}", server.address()), asked.limit)?;
        // A server whose client has come ends by itself.
        server.run(&format!("kill -KILL {process}"), SHORT)?;
        text = output.text;
        if !clock_failed(&text) {
            let unreadable = || Trouble::Refused {
                guest: client.name().to_owned(),
                command: line.clone(),
                status: output.status,
                said: text.trim().to_owned(),
            };
            return parse(&text).filter(|_| output.status == 0).ok_or_else(unreadable);
        }
    }
    Err(Trouble::Unexpected(format!("`{line}` could not take the speed of its clock: {}", text.trim())))
}

/// It says so, or shows a time that never passed.
fn clock_failed(text: &str) -> bool {
    text.contains("r^2") || text.contains(" inf") || text.contains(" nan")
}

impl Latency {
    fn parse(text: &str) -> Option<Self> {
        let [_bytes, _iterations, times @ ..]: [f64; 9] = row(text, "t_min[usec]")?;
        // It counts µs and writes two digits behind the point.
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

/// The numbers in the line below the one with the names of columns.
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
    fn results_are_read_from_what_perftest_prints() {
        let latency = Latency::parse(LATENCY).unwrap();
        let [min, max, typical] = [253_310, 2_754_100, 427_270].map(Span::from_ns);
        assert_eq!((latency.min, latency.max, latency.typical), (min, max, typical));
        let [average, p99, p999] = [595_360, 2_700_120, 2_754_100].map(Span::from_ns);
        assert_eq!((latency.average, latency.p99, latency.p999), (average, p99, p999));
        assert_eq!(Bandwidth::parse(BANDWIDTH), Some(Bandwidth { average_mib_per_s: 11.9 }));
    }

    #[test]
    fn what_is_no_result_is_none() {
        assert_eq!(Latency::parse(BANDWIDTH), None);
        assert_eq!(Bandwidth::parse(LATENCY), None);
        assert_eq!(Latency::parse(""), None);
        assert_eq!(Bandwidth::parse(&BANDWIDTH.replace("11.90", "0.00")), None);
        assert_eq!(Latency::parse(LATENCY.split_once("\n 8").unwrap().0), None);
    }

    #[test]
    fn a_clock_that_failed_is_noticed() {
        assert!(clock_failed("Correlation coefficient r^2: 0.84 < 0.9\n"));
        assert!(clock_failed(&BANDWIDTH.replace("11.90", "inf")));
        assert!(!clock_failed(LATENCY) && !clock_failed(BANDWIDTH));
    }

    #[test]
    fn a_measurement_is_asked_for_with_its_timeout() {
        let asked = Asked { bytes: 8, iterations: 300, timeout_exponent: 16, limit: SHORT };
        assert_eq!(asked.line("ib_write_lat"), "ib_write_lat -d rxe0 -x 1 -m 1024 -F -s 8 -n 300 -u 16");
    }
}
