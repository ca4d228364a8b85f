//! Closed queueing networks with one class of customers: exact mean value analysis, and the
//! birth-death chain of a station with a load-dependent service rate.

/// Solution of a network for one number of customers.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkSolution {
    /// Completed cycles per unit of time, over all customers.
    pub throughput: f64,
    /// Time of one cycle, including the think time.
    pub cycle: f64,
    /// Mean number of customers at each station, including the customer in service.
    pub queues: Vec<f64>,
}

/// Solves a network for 1, 2, … `customers` customers. The network has one delay of `think` and
/// one queue for each of `demands` (service time per cycle).
///
/// Exact for exponential service, first come first served. Source: M. Reiser, S. S. Lavenberg,
/// Mean-Value Analysis of Closed Multichain Queuing Networks, JACM 27(2), 1980. An arriving
/// customer sees the queue of the network with one customer less.
pub fn mean_value_analysis(think: f64, demands: &[f64], customers: u32) -> Vec<NetworkSolution> {
    let mut queues = vec![0.0; demands.len()];
    (1..=customers)
        .map(|n| {
            let times: Vec<_> =
                demands.iter().zip(&queues).map(|(demand, queue)| demand * (1.0 + queue)).collect();
            let cycle = think + times.iter().sum::<f64>();
            let throughput = f64::from(n) / cycle;
            queues = times.iter().map(|time| throughput * time).collect();
            NetworkSolution { throughput, cycle, queues: queues.clone() }
        })
        .collect()
}

/// Probability of each number of customers, from none to all, at a station. The station serves
/// `rate(k)` customers per unit of time while it holds `k`. A customer returns after a mean think
/// time of `think`. With `think` zero all customers are always present.
///
/// The result is the stationary distribution of a birth-death chain:
/// `p(k) = p(k-1) · (N-k+1) / (think · rate(k))`.
pub fn birth_death(customers: u32, think: f64, rate: impl Fn(u32) -> f64) -> Vec<f64> {
    let mut shares = vec![1.0];
    if think <= 0.0 {
        shares = vec![0.0; customers as usize];
        shares.push(1.0);
        return shares;
    }
    for k in 1..=customers {
        // The terms are rescaled as they grow. With many customers and short think times, the first
        // terms vanish beside the last.
        let last = shares[k as usize - 1] * f64::from(customers - k + 1) / (think * rate(k));
        shares.push(last);
        if last > 1e100 {
            shares.iter_mut().for_each(|share| *share /= last);
        }
    }
    let sum: f64 = shares.iter().sum();
    shares.iter().map(|share| share / sum).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Two exact solutions of one network agree.
        #[test]
        fn mean_value_analysis_equals_the_birth_death_solution(
            think in 0.01..10.0_f64, hold in 0.01..3.0_f64, customers in 1..40_u32,
        ) {
            let solution = mean_value_analysis(think, &[hold], customers).pop().unwrap();
            let shares = birth_death(customers, think, |_| 1.0 / hold);
            let throughput = (1.0 - shares[0]) / hold;
            let queue: f64 = (0..).map(f64::from).zip(&shares).map(|(k, share)| k * share).sum();
            prop_assert!((solution.throughput / throughput - 1.0).abs() < 1e-9);
            prop_assert!((solution.queues[0] - queue).abs() < 1e-6 * queue.max(1.0));
        }

        /// Two bounds on throughput hold: the busiest station limits it, and each customer is in
        /// one place at a time.
        #[test]
        fn throughput_keeps_to_its_bounds(
            think in 0.01..10.0_f64, demands in prop::collection::vec(0.01..3.0_f64, 1..5), customers in 1..40_u32,
        ) {
            let solution = mean_value_analysis(think, &demands, customers).pop().unwrap();
            let most = demands.iter().copied().fold(0.0, f64::max);
            let alone = think + demands.iter().sum::<f64>();
            prop_assert!(solution.throughput <= 1.0 / most + 1e-9);
            prop_assert!(solution.throughput <= f64::from(customers) / alone + 1e-9);
        }
    }

    #[test]
    fn customers_without_think_time_are_all_present() {
        assert_eq!(birth_death(3, 0.0, |_| 1.0), [0.0, 0.0, 0.0, 1.0]);
    }
}
