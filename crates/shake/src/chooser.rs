//! Choices of each run: its sites, the hit at which threads are held, and its seed. Pure: they
//! come from the seed of the search, and from the numbers of hits in earlier runs.

use std::collections::BTreeMap;

use morecores_findings::Schedule;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::holds::{Choice, choose_sites};
use crate::sites::SiteTable;

/// One of so many runs with holds has them at random instants, where no site is.
const INSTANTS_SHARE: u32 = 8;
/// Share of the other runs with holds before an instruction that have them at one hit of a thread.
const HIT_SHARE: f64 = 0.5;

/// Hit of a thread at a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    pub(crate) site: usize,
    /// Number among the hits of the site by the same thread, from 1.
    pub(crate) number: u32,
}

impl Hit {
    /// Hit at which a run held threads, if it had one.
    pub(crate) fn chosen(choice: &Choice) -> Option<Self> {
        let site = choice.sites.first().copied();
        site.zip(choice.hit).map(|(site, number)| Self { site, number })
    }
}

/// Source of the choices of a search.
#[derive(Debug)]
pub(crate) struct Chooser {
    pub(crate) random: ChaCha8Rng,
    /// Most hits of one thread at each site in a run that counted them.
    most_hits: BTreeMap<usize, u32>,
}

impl Chooser {
    pub(crate) fn new(seed: u64) -> Self {
        Self { random: ChaCha8Rng::seed_from_u64(seed), most_hits: BTreeMap::new() }
    }

    /// Schedules of a round in random order. Without an update there is nothing to split.
    pub(crate) fn schedules(&mut self, sites: &SiteTable) -> Vec<Schedule> {
        let has_updates = !sites.updates.is_empty();
        let makes_sense = |schedule: &Schedule| has_updates || *schedule != Schedule::CpusSplits;
        let mut schedules: Vec<Schedule> = Schedule::ALL.into_iter().filter(makes_sense).collect();
        schedules.shuffle(&mut self.random);
        schedules
    }

    /// Choice with a few of all sites, or with one hit of one of them.
    pub(crate) fn choose_freely(&mut self, schedule: Schedule, sites: &SiteTable) -> Choice {
        let weights = match schedule {
            Schedule::OneCpu | Schedule::Cpus => &[][..],
            // A few runs hold threads at random instants.
            Schedule::OneCpuHolds | Schedule::CpusHolds if self.random.random_ratio(1, INSTANTS_SHARE) => &[],
            Schedule::OneCpuHolds | Schedule::CpusHolds | Schedule::CpusTogether => &sites.weights,
            Schedule::CpusSplits => &sites.updates,
        };
        let chosen = choose_sites(&mut self.random, weights);
        let first = chosen.first().copied();
        self.choose_hit(schedule, chosen, first, None)
    }

    /// Choice with one of some sites or with all, or with one hit of one of them: `hit`, if there
    /// is one.
    pub(crate) fn choose_among(&mut self, schedule: Schedule, sites: &[usize], hit: Option<Hit>) -> Choice {
        let site = sites[self.random.random_range(0..sites.len())];
        let all = self.random.random_ratio(1, sites.len() as u32 + 1);
        let chosen = if all { sites.to_vec() } else { vec![site] };
        self.choose_hit(schedule, chosen, Some(site), hit)
    }

    /// Choice with `sites`, or with one hit of `site`. Only a thread that stops before an
    /// instruction has its hits numbered.
    fn choose_hit(
        &mut self,
        schedule: Schedule,
        sites: Vec<usize>,
        site: Option<usize>,
        hit: Option<Hit>,
    ) -> Choice {
        let seed = self.random.random();
        let stops = matches!(schedule, Schedule::OneCpuHolds | Schedule::CpusHolds);
        match site {
            Some(site) if stops && self.random.random_bool(HIT_SHARE) => {
                let Hit { site, number } = hit.unwrap_or_else(|| Hit { site, number: self.any_number(site) });
                Choice { schedule, seed, sites: vec![site], hit: Some(number) }
            }
            _ => Choice { schedule, seed, sites, hit: None },
        }
    }

    /// Number of a hit. The first and the last are more probable, because the ends of a loop often
    /// differ from its other turns.
    fn any_number(&mut self, site: usize) -> u32 {
        let last = self.most_hits.get(&site).copied().unwrap_or(1);
        match self.random.random_range(0..4) {
            0 => 1,
            1 => last,
            _ => self.random.random_range(1..=last),
        }
    }

    /// Learns from the hits of the sites by each thread in a run that counted them.
    pub(crate) fn learn(&mut self, choice: &Choice, hits_at: &BTreeMap<usize, BTreeMap<i32, u32>>) {
        if choice.hit.is_none() {
            return;
        }
        for (site, hits) in hits_at {
            let most = self.most_hits.entry(*site).or_insert(1);
            *most = hits.values().copied().max().unwrap_or(1).max(*most);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn hits_are_chosen_among_those_of_earlier_runs() {
        let mut chooser = Chooser::new(1);
        let numbers = |chooser: &mut Chooser| {
            let choices = (0..400).map(|_| chooser.choose_among(Schedule::OneCpuHolds, &[5], None));
            choices.filter_map(|choice| choice.hit).collect::<Vec<u32>>()
        };
        assert!(numbers(&mut chooser).iter().all(|number| *number == 1), "nothing is known yet");
        let choice = Choice { schedule: Schedule::OneCpuHolds, seed: 1, sites: vec![5], hit: Some(1) };
        chooser.learn(&choice, &BTreeMap::from([(5, BTreeMap::from([(10, 20), (11, 7)]))]));
        let chosen = numbers(&mut chooser);
        assert_eq!(chosen.iter().copied().collect::<BTreeSet<u32>>().len(), 20);
        let last = chosen.iter().filter(|number| **number == 20).count();
        assert!(last > chosen.len() / 8, "the last is more probable: {last} of {}", chosen.len());
    }

    #[test]
    fn a_known_hit_is_repeated_and_only_where_threads_stop() {
        let mut chooser = Chooser::new(2);
        let hit = Hit { site: 3, number: 20 };
        for schedule in Schedule::ALL {
            let stops = matches!(schedule, Schedule::OneCpuHolds | Schedule::CpusHolds);
            let choices: Vec<Choice> =
                (0..100).map(|_| chooser.choose_among(schedule, &[3, 4], Some(hit))).collect();
            let hits: Vec<Hit> = choices.iter().filter_map(Hit::chosen).collect();
            assert_eq!(!hits.is_empty(), stops);
            assert!(hits.len() < 100 && hits.iter().all(|chosen| *chosen == hit));
        }
    }
}
