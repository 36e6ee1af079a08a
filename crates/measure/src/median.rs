//! The median.

/// The median: the mean of the two middle values if their number is even, 0 without values.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => 0.0,
        len if len % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_value() {
        for (values, expected) in [(&[][..], 0.0), (&[3.0], 3.0), (&[5.0, 1.0, 2.0], 2.0), (&[4.0, 1.0], 2.5)]
        {
            assert!((median(values) - expected).abs() < 1e-9, "{values:?}");
        }
    }
}
