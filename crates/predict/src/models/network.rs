//! Closed queueing networks with one class of customers: exact mean value analysis.

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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
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
}
