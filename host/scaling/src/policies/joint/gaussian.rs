//! Gaussian process regression over few points.

/// Residuals at points of the plane, and predictions for other points.
///
/// Source: Rasmussen and Williams, "Gaussian Processes for Machine Learning" (2006), Algorithm 2.1, with a squared
/// exponential covariance.
#[derive(Debug, Clone)]
pub(super) struct Gaussian {
    points: Vec<[f64; 2]>,
    /// Lower triangle of the Cholesky factor of the covariance, row-major.
    factor: Vec<Vec<f64>>,
    /// Inverse covariance times residuals.
    weights: Vec<f64>,
    variance: f64,
    length: f64,
}

impl Gaussian {
    /// Learns `residuals`, each with the variance of its noise. `variance` is the process's, `length` the
    /// distance over which it forgets.
    pub(super) fn learn(
        points: Vec<[f64; 2]>,
        residuals: &[f64],
        noise: &[f64],
        variance: f64,
        length: f64,
    ) -> Self {
        let mut gaussian = Self { points, factor: Vec::new(), weights: Vec::new(), variance, length };
        for (row, noise) in noise.iter().enumerate() {
            let mut line = gaussian.against(&gaussian.points[row], row);
            // Solves for the row of the factor, and then its diagonal.
            gaussian.forward(&mut line);
            let rest = variance + noise - line.iter().map(|value| value * value).sum::<f64>();
            line.push(rest.max(1e-12).sqrt());
            gaussian.factor.push(line);
        }
        let mut weights = residuals.to_vec();
        gaussian.forward(&mut weights);
        for row in (0..weights.len()).rev() {
            let below: f64 = (row + 1..weights.len()).map(|at| gaussian.factor[at][row] * weights[at]).sum();
            weights[row] = (weights[row] - below) / gaussian.factor[row][row];
        }
        gaussian.weights = weights;
        gaussian
    }

    /// Returns the mean and standard deviation at a point.
    pub(super) fn at(&self, point: &[f64; 2]) -> (f64, f64) {
        let mut against = self.against(point, self.points.len());
        let mean = against.iter().zip(&self.weights).map(|(one, other)| one * other).sum();
        self.forward(&mut against);
        let known: f64 = against.iter().map(|value| value * value).sum();
        (mean, (self.variance - known).max(0.0).sqrt())
    }

    /// Returns the covariances of a point with the first `count` points.
    fn against(&self, point: &[f64; 2], count: usize) -> Vec<f64> {
        let covariance = |other: &[f64; 2]| {
            let distance: f64 = point.iter().zip(other).map(|(one, other)| (one - other).powi(2)).sum();
            self.variance * (-distance / (2.0 * self.length * self.length)).exp()
        };
        self.points[..count].iter().map(covariance).collect()
    }

    /// Solves `factor * x = values` in place, for as many rows as there are values.
    fn forward(&self, values: &mut [f64]) {
        for row in 0..values.len() {
            let before: f64 = (0..row).map(|at| self.factor[row][at] * values[at]).sum();
            values[row] = (values[row] - before) / self.factor[row][row];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_sure_where_it_looked_and_knows_nothing_far_away() {
        let points = vec![[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]];
        let gaussian = Gaussian::learn(points.clone(), &[0.1, -0.2, 0.3], &[1e-8; 3], 0.04, 0.7);
        for (point, residual) in points.iter().zip([0.1, -0.2, 0.3]) {
            let (mean, deviation) = gaussian.at(point);
            assert!((mean - residual).abs() < 1e-4 && deviation < 1e-3, "{mean} {deviation}");
        }
        let (mean, deviation) = gaussian.at(&[9.0, 9.0]);
        assert!(mean.abs() < 1e-9 && (deviation - 0.2).abs() < 1e-9);
    }

    #[test]
    fn noise_is_averaged() {
        // Two looks at one point: the mean of both, drawn towards 0 by the prior.
        let gaussian = Gaussian::learn(vec![[0.0, 0.0]; 2], &[0.1, 0.3], &[0.02; 2], 0.04, 1.0);
        let (mean, deviation) = gaussian.at(&[0.0, 0.0]);
        assert!((mean - 0.2 * 0.04 / (0.04 + 0.01)).abs() < 1e-12);
        assert!((deviation * deviation - (0.04 - 0.04 * 0.04 / 0.05)).abs() < 1e-12);
    }
}
