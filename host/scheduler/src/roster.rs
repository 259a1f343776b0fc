//! Keeps the numbers of instances and the life of each: which ones start, take batches or are about to leave.

use crate::knobs::KnobError;

/// The instances of a scheduler by number. At least one of them is ready and not retired.
#[derive(Debug)]
pub(crate) struct Roster {
    lives: Vec<Life>,
    /// Instances that were not retired, in the order in which they were added.
    staying: Vec<usize>,
    /// Number of numbers given so far.
    given: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Life {
    /// The number is free.
    Nobody,
    /// The instance takes no batches yet.
    Starting,
    Ready,
    /// The instance takes no further batch, and still exists.
    Retired,
}

impl Roster {
    /// Creates as many ready instances, and room for `count_max`. Allocates everything that it will ever need.
    pub(crate) fn new(count: usize, count_max: usize) -> Self {
        let mut lives = vec![Life::Nobody; count_max];
        lives[..count].fill(Life::Ready);
        let mut staying = Vec::with_capacity(count_max);
        staying.extend(0..count);
        Self { lives, staying, given: count }
    }

    /// Gives a number to an instance that starts.
    pub(crate) fn add(&mut self) -> Result<usize, KnobError> {
        let free = self.lives.iter().position(|life| *life == Life::Nobody);
        let number = free.ok_or(KnobError::Full { instances_max: self.lives.len() })?;
        self.lives[number] = Life::Starting;
        self.staying.push(number);
        self.given = self.given.max(number + 1);
        Ok(number)
    }

    /// Counts the instance as started. Returns false if it was ready from the beginning.
    pub(crate) fn enter(&mut self, number: usize) -> bool {
        match self.lives[number] {
            Life::Ready => false,
            Life::Starting => {
                self.lives[number] = Life::Ready;
                true
            }
            // It was retired before it had started.
            Life::Retired | Life::Nobody => true,
        }
    }

    /// Retires the instance of this number, or the newest, and returns its number.
    pub(crate) fn retire(&mut self, number: Option<usize>) -> Result<usize, KnobError> {
        let place = match number {
            None => self.staying.len() - 1,
            Some(instance) => {
                let place = self.staying.iter().position(|staying| *staying == instance);
                place.ok_or(KnobError::Missing { instance })?
            }
        };
        let instance = self.staying[place];
        let is_ready = |number: &usize| self.lives[*number] == Life::Ready;
        if is_ready(&instance) && self.staying.iter().filter(|number| is_ready(number)).count() == 1 {
            return Err(KnobError::Last { instance });
        }
        self.staying.remove(place);
        self.lives[instance] = Life::Retired;
        Ok(instance)
    }

    /// Returns whether the instance is to leave.
    pub(crate) fn is_retired(&self, number: usize) -> bool {
        self.lives[number] == Life::Retired
    }

    /// Frees the number of an instance that is dropped, or was never there.
    pub(crate) fn leave(&mut self, number: usize) {
        self.staying.retain(|staying| *staying != number);
        self.lives[number] = Life::Nobody;
    }

    /// Returns the instances that were not retired, in the order in which they were added.
    pub(crate) fn staying(&self) -> &[usize] {
        &self.staying
    }

    /// Returns one more than the highest number that was ever given.
    pub(crate) fn given(&self) -> usize {
        self.given
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_last_instance_that_is_ready_stays_though_another_starts() {
        let mut roster = Roster::new(1, 3);
        assert!(matches!(roster.retire(None), Err(KnobError::Last { instance: 0 })));
        assert_eq!(roster.add().unwrap(), 1);
        assert!(matches!(roster.retire(Some(0)), Err(KnobError::Last { instance: 0 })));
        assert!(roster.enter(1));
        assert_eq!(roster.retire(Some(0)).unwrap(), 0);
        assert!(matches!(roster.retire(Some(0)), Err(KnobError::Missing { instance: 0 })));
        assert_eq!(roster.staying(), [1]);
    }

    #[test]
    fn a_number_is_given_again_when_its_instance_has_left_and_not_before() {
        let mut roster = Roster::new(2, 2);
        assert_eq!(roster.retire(None).unwrap(), 1);
        assert!(matches!(roster.add(), Err(KnobError::Full { instances_max: 2 })));
        roster.leave(1);
        assert_eq!(roster.add().unwrap(), 1);
        assert_eq!((roster.staying(), roster.given()), (&[0, 1][..], 2));
    }

    #[test]
    fn an_instance_may_be_retired_before_it_enters() {
        let mut roster = Roster::new(1, 2);
        assert_eq!(roster.add().unwrap(), 1);
        assert_eq!(roster.retire(None).unwrap(), 1);
        assert!(roster.enter(1), "it is counted, and leaves");
        assert!(roster.is_retired(1));
    }
}
